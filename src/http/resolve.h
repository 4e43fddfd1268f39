#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "semel/time.h"

namespace semel::http {

// Resolves a host name. The system's resolver cannot be interrupted: if it takes too long, it is
// left to end by itself, and its result is ignored. The error is a phrase for the log.
boost::asio::awaitable<std::expected<std::vector<boost::asio::ip::tcp::endpoint>, std::string>>
resolve(boost::asio::any_io_executor executor, std::string host, std::uint16_t port,
        Duration timeout);

}  // namespace semel::http
