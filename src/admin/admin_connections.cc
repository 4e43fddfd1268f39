#include "admin/admin_connections.h"

#include <algorithm>

namespace semel {

boost::asio::awaitable<net::IoResult<void>> AdminConnections::read_head(net::Connection& client,
                                                                        net::Request& request,
                                                                        std::size_t head_bytes_max,
                                                                        std::string& why) {
  // Leaves the list however the wait ends, also where the loop goes with everything in it.
  struct Waiting {
    explicit Waiting(std::list<net::Connection*>& list_in, net::Connection& client)
        : list(list_in), place(list.insert(list.end(), &client)) {}
    ~Waiting() { list.erase(place); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    std::list<net::Connection*>& list;
    std::list<net::Connection*>::iterator place;
  };
  const Waiting waiting(waiting_, client);
  co_return co_await client.read_head(request, head_bytes_max, why);
}

bool AdminConnections::end_longest_waiting() {
  const auto found = std::ranges::find_if(
      waiting_, [](const net::Connection* client) { return !client->is_given_up(); });
  if (found == waiting_.end()) return false;
  (*found)->give_up();
  return true;
}

}  // namespace semel
