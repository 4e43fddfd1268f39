#pragma once

#include "config/reading/reader.h"
#include "stores/open.h"

// The keys of a store.
namespace semel::config_file {

void read_store(const Field& field, StoreConfig& out);

}  // namespace semel::config_file
