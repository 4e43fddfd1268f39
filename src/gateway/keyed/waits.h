#pragma once

#include <boost/asio/awaitable.hpp>

#include "runtime/services.h"

namespace semel::gateway {

// Waits until the claim on the record, which another process holds, may have ended, or until
// `timeout` has passed: by push if the store can, else for a moment. Look at the record again
// afterwards.
boost::asio::awaitable<void> wait_elsewhere(runtime::Services& services, RecordId id, Token token,
                                            Duration timeout);

}  // namespace semel::gateway
