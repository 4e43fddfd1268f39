#include "telemetry/tracing/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/random.h"
#include "engine/system_clock.h"
#include "telemetry/tracing/span_exporter.h"

namespace semel::telemetry {
namespace {

constexpr std::uint8_t kSampled = 1;
// Longer texts are cut off: spans wait in memory.
constexpr std::size_t kValueBytesMax = 512;
// The request, claim, upstream, completion; a waiting one has a few more.
constexpr std::size_t kSpansUsually = 4;

// Random bytes for ids, drawn from the system a few hundred at a time. One per thread.
class RandomBytes {
 public:
  void fill(void* out, std::size_t size) {
    if (bytes_.size() - used_ < size) {
      base::fill_random(bytes_.data(), bytes_.size());
      used_ = 0;
    }
    std::memcpy(out, bytes_.data() + used_, size);
    used_ += size;
  }

 private:
  std::array<std::uint8_t, 512> bytes_;
  std::size_t used_ = sizeof bytes_;
};

RandomBytes& random_bytes() {
  thread_local RandomBytes bytes;
  return bytes;
}

template <typename Id>
Id new_id() {
  Id id{};
  // An id of zeros is none.
  while (id == Id{}) random_bytes().fill(id.data(), id.size());
  return id;
}

bool happens(double share) {
  constexpr double kAll = 4294967296.0;
  std::uint32_t drawn = 0;
  random_bytes().fill(&drawn, sizeof drawn);
  return static_cast<double>(drawn) < share * kAll;
}

std::string cut(std::string_view value) {
  return std::string(value.substr(0, kValueBytesMax));
}

void set_attribute(Span& span, std::string_view name,
                   std::variant<std::string, std::int64_t> value) {
  const auto known = std::ranges::find(span.attributes, name, &SpanAttribute::name);
  if (known != span.attributes.end()) {
    known->value = std::move(value);
  } else {
    span.attributes.push_back({name, std::move(value)});
  }
}

void end_span(Span& span) {
  if (span.ended_at == 0) span.ended_at = std::max(span.begun_at, engine::wall_nanoseconds());
}

void link_span(Span& span, std::string_view traceparent) {
  if (const auto first = parse_traceparent(traceparent)) span.link = first;
}

}  // namespace

Trace::Trace(SpanExporter& exporter, Span request)
    : recording_(std::make_unique<Recording>(exporter)) {
  recording_->spans.reserve(kSpansUsually);
  recording_->spans.push_back(std::move(request));
}

Trace& Trace::operator=(Trace&& other) noexcept {
  if (this != &other) {
    end();
    recording_ = std::move(other.recording_);
  }
  return *this;
}

void Trace::set_name(std::string_view method, std::string_view route) {
  if (!recording_) return;
  recording_->spans.front().name =
      route.empty() ? cut(method) : fmt::format("{} {}", cut(method), route);
}

void Trace::set(std::string_view literal, std::string_view value) {
  if (recording_) set_attribute(recording_->spans.front(), literal, cut(value));
}

void Trace::set(std::string_view literal, std::int64_t value) {
  if (recording_) set_attribute(recording_->spans.front(), literal, value);
}

void Trace::set_failed() {
  if (recording_) recording_->spans.front().has_failed = true;
}

void Trace::link_to(std::string_view traceparent) {
  if (recording_) link_span(recording_->spans.front(), traceparent);
}

std::string Trace::traceparent() const {
  return recording_ ? to_traceparent(recording_->spans.front().self) : std::string();
}

std::string Trace::trace_id() const {
  return recording_ ? to_hex(recording_->spans.front().self.trace) : std::string();
}

void Trace::end() {
  if (!recording_) return;
  for (Span& span : recording_->spans) end_span(span);
  recording_->exporter.offer(std::move(recording_->spans));
  recording_.reset();
}

Trace::Part::Part(const Trace* trace, std::string_view name, SpanKind kind) {
  if (!trace || !*trace) return;
  recording_ = trace->recording_.get();
  index_ = recording_->spans.size();
  const SpanName request = recording_->spans.front().self;
  recording_->spans.push_back(Span{.self = {request.trace, new_id<SpanId>(), request.flags},
                                   .parent = request.span,
                                   .name = cut(name),
                                   .kind = kind,
                                   .begun_at = engine::wall_nanoseconds()});
}

Trace::Part::Part(Part&& other) noexcept
    : recording_(std::exchange(other.recording_, nullptr)), index_(other.index_) {}

Trace::Part& Trace::Part::operator=(Part&& other) noexcept {
  if (this != &other) {
    end();
    recording_ = std::exchange(other.recording_, nullptr);
    index_ = other.index_;
  }
  return *this;
}

Span& Trace::Part::span() const {
  return recording_->spans[index_];
}

void Trace::Part::set(std::string_view literal, std::string_view value) {
  if (recording_) set_attribute(span(), literal, cut(value));
}

void Trace::Part::set(std::string_view literal, std::int64_t value) {
  if (recording_) set_attribute(span(), literal, value);
}

void Trace::Part::set_failed() {
  if (recording_) span().has_failed = true;
}

void Trace::Part::link_to(std::string_view traceparent) {
  if (recording_) link_span(span(), traceparent);
}

std::string Trace::Part::traceparent() const {
  return recording_ ? to_traceparent(span().self) : std::string();
}

void Trace::Part::end() {
  if (Recording* recording = std::exchange(recording_, nullptr)) end_span(recording->spans[index_]);
}

Tracer::Tracer(double sample, SpanExporter& exporter) : exporter_(exporter), sample_(sample) {}

Trace Tracer::begin(std::string_view traceparent, SpanKind kind) const {
  const auto from = parse_traceparent(traceparent);
  if (from ? !from->is_sampled() : !happens(sample_)) return {};
  Span request{.self = {from ? from->trace : new_id<TraceId>(), new_id<SpanId>(), kSampled},
               .parent = from ? from->span : SpanId{},
               .name = {},
               .kind = kind,
               .begun_at = engine::wall_nanoseconds()};
  return {exporter_, std::move(request)};
}

}  // namespace semel::telemetry
