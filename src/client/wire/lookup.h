#pragma once

#include <sys/socket.h>

#include <expected>
#include <vector>

#include "client/wire/failure.h"
#include "client/wire/url.h"
#include "client/wire/wait.h"

namespace semel::client {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

// Looks the host up. The system's call cannot be interrupted, so it runs on a thread of its own,
// which is left behind if the limits end first.
std::expected<std::vector<SocketAddress>, Failure> look_up(const Origin& origin,
                                                           const Limits& limits);

}  // namespace semel::client
