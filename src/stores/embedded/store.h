#pragma once

#include <expected>
#include <memory>
#include <string>

#include "semel/driver/store.h"
#include "stores/embedded/options.h"

namespace semel::stores {

// Opens a store that keeps records in RocksDB, in one directory that one process at a time has
// open. Swaps that wait at the same time are committed as one group. Any thread may call.
//
// A failed commit stops the store for good: its swaps return swap::Unknown, all later calls return
// StoreUnavailable, and only opening the store again shows what the disk has kept.
//
// The store's destructor commits the waiting swaps and posts their results. Stop whatever runs the
// callers' coroutines before it, and destroy their execution contexts after it.
//
// sweep() and scan() may return fewer records than asked for although there are more, if they are
// large.
//
// The error is a sentence for the operator.
std::expected<std::unique_ptr<Store>, std::string> open_embedded_store(
    const EmbeddedOptions& options);

}  // namespace semel::stores
