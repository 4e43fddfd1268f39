#pragma once

#include <boost/asio/awaitable.hpp>

#include "gateway/reply.h"

namespace semel {

class Observation;

// Plain proxying: streams the request to the route's upstream and the answer back, in bounded
// memory, keeping nothing. `observation` is told what passes; null: nobody looks. False: the
// upstream was not asked, the client has been told why.
boost::asio::awaitable<bool> proxy(ClientRequest& request, std::size_t route,
                                   Observation* observation = nullptr);

}  // namespace semel
