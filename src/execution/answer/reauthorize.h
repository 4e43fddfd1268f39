#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "execution/answer/reply.h"
#include "semel/driver/record.h"

namespace semel::execution {

// Identifies the stored answer that is about to be given away.
struct Viewing {
  RecordId record;
  std::string tenant;
};

// Asks the route's `reauthorize` URL, if it has one, whether this caller may (still) see the stored
// answer. Call it before a replay, before a waiter's answer and before a status resource; not
// before the answer of the caller's own execution.
//
// False: the caller may not see it, or nobody could say. The caller has then been answered: with
// the 401 or 403 of the service that was asked, or with 503. Nothing is remembered: the service is
// asked again for the next request.
boost::asio::awaitable<bool> may_see(ClientRequest& request, const runtime::Route& route,
                                     Viewing viewing);

}  // namespace semel::execution
