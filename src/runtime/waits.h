#pragma once

#include <boost/asio/awaitable.hpp>

#include "runtime/services.h"

namespace semel::runtime {

// Waits until the claim on the record, which another process or a client of the service API holds,
// may have ended, or until `timeout` has passed: by push if the store can, or if all changes go
// through this process, else for a moment. Look at the record again afterwards.
boost::asio::awaitable<void> wait_elsewhere(Services& services, RecordId id, Token token,
                                            Duration timeout);

}  // namespace semel::runtime
