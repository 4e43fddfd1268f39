#pragma once

#include <string_view>
#include <vector>

#include "config/route.h"
#include "semel/answer.h"

namespace semel::execution {

// Returns the fields that let a page of a configured origin read an answer of Semel's own. Answers
// of the service have the service's. `origin`: the field of the request; empty if it has none.
std::vector<Header> cors_headers(std::string_view origin, const config::RouteConfig& route);

}  // namespace semel::execution
