#pragma once

#include "config/printing/yaml.h"
#include "stores/open.h"

namespace semel::config::printing {

// Writes `store`, with the keys that have an effect for its kind, and `encryption`.
void print_store(Yaml& out, const stores::StoreConfig& store);

}  // namespace semel::config::printing
