#include "telemetry/tracing/span.h"

#include <fmt/format.h>

#include "http/fields/traceparent.h"

namespace semel::telemetry {
namespace {

// Where the parts of a traceparent stand: 00-{trace}-{span}-{flags}.
constexpr std::size_t kTraceAt = 3;
constexpr std::size_t kSpanAt = 36;
constexpr std::size_t kFlagsAt = 53;

template <std::size_t size>
void read_hex(std::string_view digits, std::array<std::uint8_t, size>& out) {
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = static_cast<std::uint8_t>(base::hex_value(digits[2 * i]) * 16 +
                                       base::hex_value(digits[2 * i + 1]));
  }
}

}  // namespace

std::optional<SpanName> parse_traceparent(std::string_view text) {
  if (!http::is_traceparent(text)) return std::nullopt;
  SpanName name;
  std::array<std::uint8_t, 1> flags{};
  read_hex(text.substr(kTraceAt), name.trace);
  read_hex(text.substr(kSpanAt), name.span);
  read_hex(text.substr(kFlagsAt), flags);
  name.flags = flags.front();
  return name;
}

std::string to_traceparent(const SpanName& name) {
  return fmt::format("00-{}-{}-{:02x}", to_hex(name.trace), to_hex(name.span), name.flags);
}

}  // namespace semel::telemetry
