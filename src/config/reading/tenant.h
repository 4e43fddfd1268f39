#pragma once

#include "config/config.h"
#include "config/reading/reader.h"

// The key `tenant`: whose a key is, and what proves it.
namespace semel::config_file {

void read_tenant(const Field& field, TenantConfig& out);
// What only the whole file can tell. `root` is its top level.
void check_tenant(const Field& root, const Config& config);

}  // namespace semel::config_file
