#pragma once

#include "config/printing/yaml.h"
#include "config/route.h"

namespace semel::config::printing {

// Writes the members of a route. A webhook's route does not name what its events decide.
void print_route(Yaml& out, const RouteConfig& route);

}  // namespace semel::config::printing
