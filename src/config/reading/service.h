#pragma once

#include "config/config.h"
#include "config/reading/reader.h"

// The keys of the service API.
namespace semel::config::reading {

void read_service(const Field& field, ServiceConfig& out);

// Checks it against the rest of the file.
void check_service(const Field& field, const Config& config);

}  // namespace semel::config::reading
