#include "admin/admin_connections.h"

#include <algorithm>

namespace semel::admin {

AdminConnections::Waiting::Waiting(AdminConnections& connections, http::Connection& client)
    : list_(connections.waiting_), place_(list_.insert(list_.end(), &client)) {}

// Runs however the wait ends, also if the loop is destroyed with everything in it.
AdminConnections::Waiting::~Waiting() {
  list_.erase(place_);
}

bool AdminConnections::end_longest_waiting() {
  const auto found = std::ranges::find_if(
      waiting_, [](const http::Connection* client) { return !client->is_given_up(); });
  if (found == waiting_.end()) return false;
  (*found)->give_up();
  return true;
}

}  // namespace semel::admin
