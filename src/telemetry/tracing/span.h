#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/hex.h"

namespace semel::telemetry {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;  // all zero: none

template <std::size_t size>
std::string to_hex(const std::array<std::uint8_t, size>& id) {
  return base::encode_hex({reinterpret_cast<const char*>(id.data()), size});
}

// Names a span, ours or somebody else's.
struct SpanName {
  TraceId trace{};
  SpanId span{};
  std::uint8_t flags = 0;  // of W3C Trace Context

  bool is_sampled() const { return (flags & 1) != 0; }
};

// Reads a W3C traceparent; nullopt: it is none.
std::optional<SpanName> parse_traceparent(std::string_view text);
std::string to_traceparent(const SpanName& name);

// Numbered as in OTLP.
enum class SpanKind : std::uint8_t { internal = 1, server = 2, client = 3, consumer = 5 };

struct SpanAttribute {
  std::string_view name;  // a literal
  std::variant<std::string, std::int64_t> value;
};

// One piece of work in a trace. Times are in nanoseconds since 1970 UTC.
struct Span {
  SpanName self;
  SpanId parent{};
  std::string name;
  SpanKind kind = SpanKind::internal;
  std::int64_t begun_at = 0;
  std::int64_t ended_at = 0;  // 0: it has not ended
  std::vector<SpanAttribute> attributes = {};
  std::optional<SpanName> link = {};  // the first execution
  bool has_failed = false;
};

}  // namespace semel::telemetry
