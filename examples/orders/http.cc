#include "http.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <thread>

namespace orders {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

void talk(tcp::socket socket, const std::function<Response(const Request&)>& handle) {
  boost::system::error_code ended;
  boost::beast::flat_buffer buffer;
  for (;;) {
    Request request;
    http::read(socket, buffer, request, ended);
    if (ended) return;
    Response response = handle(request);
    response.keep_alive(request.keep_alive());
    response.prepare_payload();
    http::write(socket, response, ended);
    if (ended || !request.keep_alive()) return;
  }
}

}  // namespace

void serve(const Address& at, const std::function<void(std::uint16_t port)>& ready,
           const std::function<Response(const Request&)>& handle) {
  asio::io_context context;
  const auto port = static_cast<std::uint16_t>(std::stoi(at.port));
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::make_address(at.host), port));
  ready(acceptor.local_endpoint().port());
  for (;;) {
    std::thread([socket = acceptor.accept(), &handle]() mutable {
      talk(std::move(socket), handle);
    }).detach();
  }
}

Response ask(const Address& whom, Request request) {
  asio::io_context context;
  tcp::socket socket(context);
  tcp::resolver resolver(context);
  asio::connect(socket, resolver.resolve(whom.host, whom.port));
  request.set(http::field::host, whom.host + ":" + whom.port);
  request.set(http::field::connection, "close");
  request.prepare_payload();
  http::write(socket, request);
  boost::beast::flat_buffer buffer;
  Response response;
  http::read(socket, buffer, response);
  return response;
}

}  // namespace orders
