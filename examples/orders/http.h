#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <functional>
#include <string>

namespace orders {

using Request = boost::beast::http::request<boost::beast::http::string_body>;
using Response = boost::beast::http::response<boost::beast::http::string_body>;

struct Address {
  std::string host;
  std::string port;
};

// Serves until the process ends, a thread a connection. `ready` is told the port.
void serve(const Address& at, const std::function<void(std::uint16_t port)>& ready,
           const std::function<Response(const Request&)>& handle);

// One request on a connection of its own. Throws where no answer came.
Response ask(const Address& whom, Request request);

}  // namespace orders
