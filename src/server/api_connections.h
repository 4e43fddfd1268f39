#pragma once

#include <atomic>
#include <cstddef>
#include <list>

#include "http/connection.h"

namespace semel::server {

// The connections of an ApiListener, and which of them wait for their client. Used on one
// thread only.
struct ApiConnections {
  std::atomic<std::size_t> open = 0;

  // Marks a connection while it is its client's turn: to ask, to send the rest, to take its answer,
  // or to close. end_longest_waiting() may end such a connection.
  class Waiting {
   public:
    Waiting(ApiConnections& connections, http::Connection& client);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    std::list<http::Connection*>& list_;
    const std::list<http::Connection*>::iterator place_;
  };

  // Ends the connection that has waited longest for its client. False: none waits.
  bool end_longest_waiting();

 private:
  std::list<http::Connection*> waiting_;
};

}  // namespace semel::server
