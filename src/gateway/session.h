#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace semel {

class Worker;

// Serves one client connection, request after request, until either side ends it.
boost::asio::awaitable<void> serve_client(Worker& worker, boost::asio::ip::tcp::socket socket);

}  // namespace semel
