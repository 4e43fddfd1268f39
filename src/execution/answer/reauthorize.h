#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "execution/answer/reply.h"
#include "semel/record.h"

namespace semel {

// Whose stored answer is about to be given away.
struct Viewing {
  RecordId record;
  std::string tenant;
};

// Asks the route's `reauthorize` URL, if it has one, whether this caller may (still) see the stored
// answer. To be called before a replay, before a waiter's answer and before a status resource; not
// before the answer of the caller's own execution.
//
// False: it may not, or nobody could say, and the caller has been answered: with the 401 or 403 of
// the service that was asked, or with 503. Nothing is remembered: the next one is asked about
// again.
boost::asio::awaitable<bool> may_see(ClientRequest& request, const Route& route, Viewing viewing);

}  // namespace semel
