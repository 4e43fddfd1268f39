#pragma once

#include <boost/asio/awaitable.hpp>

#include "gateway/reply.h"

namespace semel {

// Plain proxying: streams the request to the route's upstream and the answer back, in bounded
// memory, keeping nothing.
boost::asio::awaitable<void> proxy(ClientRequest& request, std::size_t route);

}  // namespace semel
