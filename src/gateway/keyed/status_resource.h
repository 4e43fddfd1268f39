#pragma once

#include <boost/asio/awaitable.hpp>
#include <string_view>

#include "execution/answer/reply.h"

// Where a client that was answered 202 learns what became of its operation.
namespace semel {

// The 202: the operation is queued or in progress, and its status is at Location. `applied`: the
// client had asked for it with Prefer: respond-async.
boost::asio::awaitable<void> send_accepted(ClientRequest& request, std::string_view key,
                                           std::string_view tenant, const Record& record,
                                           bool applied);

// GET /.semel/operations/{handle}. A handle that is none, that belongs to nothing, or that another
// tenant was given: 404, and nobody can tell which.
boost::asio::awaitable<void> serve_status(ClientRequest& request);

}  // namespace semel
