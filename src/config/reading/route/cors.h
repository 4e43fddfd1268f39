#pragma once

#include "config/reading/reader.h"
#include "config/route.h"

namespace semel::config::reading {

void read_cors(const Field& field, CorsConfig& out);

}  // namespace semel::config::reading
