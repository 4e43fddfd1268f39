#pragma once

#include <expected>
#include <memory>
#include <string>

#include "semel/driver/store.h"
#include "stores/postgres/options.h"

namespace semel::stores {

// Opens a store that keeps records in PostgreSQL, shared by any number of processes. Swaps that
// wait at the same time are sent as one statement. Any thread may call.
//
// Never waits for another transaction: a locked record is swap::Busy. While the database is away
// every call is StoreUnavailable at once; a swap that was sent and not answered is swap::Unknown.
// When swept, the store removes by itself the records that are past their time by the database's
// clock.
//
// Stop whatever runs the callers' coroutines before the destructor, and destroy their execution
// contexts after it.
//
// sweep() and scan() may return fewer records than asked for although there are more, if they are
// large. stats() is out of date by a second or two.
//
// Blocks until the server was reached or could not be. In the latter case the store goes on trying,
// and trouble() says why. The error, a sentence for the operator, means that the server was reached
// and must not be used.
std::expected<std::unique_ptr<Store>, std::string> open_postgres_store(PostgresOptions options);

}  // namespace semel::stores
