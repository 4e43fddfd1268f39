#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <list>
#include <string>

#include "http/connection.h"

namespace semel {

// The connections of the admin listener, and which of them have not asked anything yet. All on one
// thread.
struct AdminConnections {
  std::atomic<std::size_t> open = 0;

  // As net::Connection::read_head(); may be ended by end_longest_waiting().
  boost::asio::awaitable<net::IoResult<void>> read_head(net::Connection& client,
                                                        net::Request& request,
                                                        std::size_t head_bytes_max,
                                                        std::string& why);
  // Ends the connection that waits for its request for longest. False: none waits.
  bool end_longest_waiting();

 private:
  std::list<net::Connection*> waiting_;
};

}  // namespace semel
