#pragma once

#include <string>
#include <vector>

#include "config/route.h"

namespace semel::admin {

// Says in sentences what a route does with a request.
std::vector<std::string> words_about(const config::RouteConfig& route);

}  // namespace semel::admin
