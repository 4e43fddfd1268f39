#include "server/api_connections.h"

#include <algorithm>

namespace semel::server {

ApiConnections::Waiting::Waiting(ApiConnections& connections, http::Connection& client)
    : list_(connections.waiting_), place_(list_.insert(list_.end(), &client)) {}

// Runs however the wait ends, also if the loop is destroyed with everything in it.
ApiConnections::Waiting::~Waiting() {
  list_.erase(place_);
}

bool ApiConnections::end_longest_waiting() {
  const auto found = std::ranges::find_if(
      waiting_, [](const http::Connection* client) { return !client->is_given_up(); });
  if (found == waiting_.end()) return false;
  (*found)->give_up();
  return true;
}

}  // namespace semel::server
