#pragma once

#include "config/printing/yaml.h"
#include "config/tenant.h"

namespace semel::config::printing {

// Writes `tenant`, with the keys of its source.
void print_tenant(Yaml& out, const TenantConfig& tenant);

}  // namespace semel::config::printing
