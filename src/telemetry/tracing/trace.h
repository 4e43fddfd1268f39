#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/tracing/span.h"

namespace semel::telemetry {

class SpanExporter;

// The spans of one request: the first is the request itself, the others are its parts. Empty if the
// request is not sampled; then every call does nothing, and nothing was allocated. Hands in all
// spans when it ends. Used by one thread at a time.
class Trace {
  struct Recording {
    SpanExporter& exporter;
    std::vector<Span> spans;
  };

 public:
  Trace() = default;  // empty
  Trace(SpanExporter& exporter, Span request);
  Trace(Trace&&) noexcept = default;
  Trace& operator=(Trace&& other) noexcept;
  ~Trace() { end(); }

  explicit operator bool() const { return recording_ != nullptr; }

  void set_name(std::string_view method, std::string_view route);
  void set(std::string_view literal, std::string_view value);
  void set(std::string_view literal, std::int64_t value);
  void set_failed();
  // Points at the first execution. Ignored unless it is a traceparent.
  void link_to(std::string_view traceparent);
  // Returns the name of the request's span for others; "" if empty.
  std::string traceparent() const;
  // Returns 32 hexadecimal digits; "" if empty.
  std::string trace_id() const;
  void end();

  // A part of the request, from its construction to its end. Empty if the trace is empty or null.
  // Must not outlive the trace.
  class Part {
   public:
    Part() = default;
    Part(const Trace* trace, std::string_view name, SpanKind kind = SpanKind::internal);
    Part(Part&& other) noexcept;
    Part& operator=(Part&& other) noexcept;
    ~Part() { end(); }

    explicit operator bool() const { return recording_ != nullptr; }
    void set(std::string_view literal, std::string_view value);
    void set(std::string_view literal, std::int64_t value);
    void set_failed();
    void link_to(std::string_view traceparent);
    std::string traceparent() const;
    void end();

   private:
    Span& span() const;

    Recording* recording_ = nullptr;
    std::size_t index_ = 0;
  };

 private:
  std::unique_ptr<Recording> recording_;
};

// Begins traces. Thread-safe.
class Tracer {
 public:
  // The exporter must outlive all traces.
  Tracer(double sample, SpanExporter& exporter);

  // Continues the trace of `traceparent`, whose sampled flag decides; if it is none, samples by
  // chance.
  Trace begin(std::string_view traceparent, SpanKind kind) const;

 private:
  SpanExporter& exporter_;
  const double sample_;
};

}  // namespace semel::telemetry
