#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "telemetry/tracing/span.h"

// The JSON encoding of OTLP, as far as spans need it.
namespace semel::telemetry {

// Returns an ExportTraceServiceRequest. `instance` names this process.
std::string encode_spans(std::span<const Span> spans, std::string_view instance);

// Returns how many spans of a request the collector did not take, by the body of its answer; 0 if
// the body says nothing about it.
std::uint64_t rejected_spans(std::string_view answer);

}  // namespace semel::telemetry
