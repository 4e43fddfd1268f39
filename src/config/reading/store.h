#pragma once

#include "config/reading/reader.h"
#include "stores/open.h"

// The keys of a store.
namespace semel::config::reading {

void read_store(const Field& field, stores::StoreConfig& out);

}  // namespace semel::config::reading
