#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <expected>
#include <string>

#include "server/api_listener.h"

namespace semel::admin {

// Reads a body that is sent as application/json, without parsing it, or returns the answer that
// refuses it.
boost::asio::awaitable<std::expected<std::string, Answer>> read_json(server::ApiRequest& asked,
                                                                     std::size_t bytes_max);

}  // namespace semel::admin
