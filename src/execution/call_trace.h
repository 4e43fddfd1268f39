#pragma once

#include "config/address.h"
#include "execution/forward_key.h"
#include "telemetry/tracing/trace.h"

// The part of a request's trace that is the call to the upstream.
namespace semel::execution {

// Names the call as the parent of what the upstream does, in place of the client's span. Does
// nothing if the request is not traced: the client's traceparent is passed on.
void name_parent(const telemetry::Trace::Part& call, KeyForwarding& fields);

// Says how the call ended, and ends the part. `upstream` null: it was not reached. `status` 0: no
// answer came.
void note_answer(telemetry::Trace::Part& call, const config::Upstream* upstream, int status);

}  // namespace semel::execution
