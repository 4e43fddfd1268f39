#pragma once

#include <boost/asio/awaitable.hpp>

#include "execution/answer/reply.h"

namespace semel::gateway {

// Returns whether the request carries a key, or must, on this route; if not, it is proxied plainly.
bool is_keyed(const http::Request& message, const config::RouteConfig& route);

// Returns whether the method is one of the route's in other letters. To HTTP and to Semel, `post`
// is another method than POST; to many services it is the same one, and they would execute it at
// every retry.
bool evades_key(const http::Request& message, const config::RouteConfig& route);

// Takes a keyed request through the engine: executes it once, or answers from what is known.
boost::asio::awaitable<void> exchange(execution::ClientRequest& request,
                                      const runtime::Route& route);

}  // namespace semel::gateway
