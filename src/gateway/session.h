#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace semel::runtime {
class Worker;
}  // namespace semel::runtime

namespace semel::gateway {

// Serves one client connection, request after request, until either side ends it.
boost::asio::awaitable<void> serve_client(runtime::Worker& worker,
                                          boost::asio::ip::tcp::socket socket);

}  // namespace semel::gateway
