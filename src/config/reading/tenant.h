#pragma once

#include "config/config.h"
#include "config/reading/reader.h"

// The key `tenant`: who owns an idempotency key, and what proves it.
namespace semel::config::reading {

void read_tenant(const Field& field, TenantConfig& out);
// Checks what only the whole file can tell. `root` is its top level.
void check_tenant(const Field& root, const Config& config);

}  // namespace semel::config::reading
