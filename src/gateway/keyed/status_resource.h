#pragma once

#include <boost/asio/awaitable.hpp>
#include <string_view>

#include "execution/answer/reply.h"

// Tells a client that was answered with 202 what became of its operation.
namespace semel::gateway {

// Sends the 202: the operation is queued or in progress, and its status is at Location. `applied`:
// the client had asked for it with Prefer: respond-async.
boost::asio::awaitable<void> send_accepted(execution::ClientRequest& request,
                                           const runtime::Route& route, std::string_view key,
                                           std::string_view tenant, const Record& record,
                                           bool applied);

// Serves GET /.semel/operations/{handle}. Answers 404 to a handle that is invalid, that belongs to
// nothing, or that another tenant was given, and nobody can tell which.
boost::asio::awaitable<void> serve_status(execution::ClientRequest& request);

}  // namespace semel::gateway
