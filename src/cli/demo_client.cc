#include "cli/demo_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace semel::cli {

DemoAnswer post_charge(const DemoRequest& request) {
  namespace asio = boost::asio;
  namespace http = boost::beast::http;
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  boost::system::error_code error;
  socket.connect({asio::ip::address_v4::loopback(), request.port}, error);
  if (error) return {};

  http::request<http::string_body> message(http::verb::post, "/v1/charges", 11);
  message.set(http::field::host, "127.0.0.1");
  message.set(http::field::content_type, "application/json");
  message.set("Idempotency-Key", "\"" + request.key + "\"");
  message.body() = request.body;
  message.prepare_payload();
  http::write(socket, message, error);
  if (error) return {};
  request.when_sent();
  if (!request.read) return {};

  boost::beast::flat_buffer buffer;
  http::response<http::string_body> answer;
  http::read(socket, buffer, answer, error);
  if (error) return {};
  return {static_cast<int>(answer.result_int()), answer.count("Idempotency-Replayed") > 0,
          answer.body()};
}

}  // namespace semel::cli
