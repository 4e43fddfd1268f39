#pragma once

#include <string>

#include "config/route.h"
#include "semel/driver/record.h"

// When a client should ask again about a key that has no answer yet.
namespace semel::execution {

// Returns how much longer an execution that goes on is likely to take: `usual_seconds`, which
// executions on this route usually take, less the age of this one; from 1 s to 30 s.
Duration retry_after_in_progress(const config::RouteConfig& route, double usual_seconds,
                                 const Record& record, Time now);

// For an outcome that an operator has to resolve. Grows with its age, from 1 to 15 minutes: what
// was not resolved within an hour will not be within the next seconds.
Duration retry_after_unknown(const config::RouteConfig& route, const Record& record, Time now);

// Returns the value of Retry-After: whole seconds, at least one.
std::string retry_after_text(Duration pause);

}  // namespace semel::execution
