#include "server/api_listener.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "engine/spawn.h"
#include "execution/headers.h"

namespace semel::server {
namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;

namespace {

constexpr auto kTimeout = std::chrono::seconds(10);
constexpr std::size_t kHeadBytesMax = 16 * 1024;
// For a stream: events that its client has not taken yet wait in the kernel; bounds them.
constexpr int kStreamBufferBytes = 64 * 1024;
constexpr std::string_view kScheme = "Bearer ";

// The answer to what is not HTTP.
Answer malformed(const std::string& why) {
  const boost::json::object body{{"type", "urn:semel:problem:bad-request"},
                                 {"title", "The request is not valid HTTP"},
                                 {"status", 400},
                                 {"code", "bad-request"},
                                 {"detail", why},
                                 {"new_key_safe", false}};
  return {.status = 400,
          .headers = {{"Content-Type", "application/problem+json"}},
          .body = boost::json::serialize(body) + "\n"};
}

}  // namespace

std::optional<std::string_view> bearer_of(const http::Request& request) {
  const auto value = request.field("Authorization");
  if (!value || request.count("Authorization") != 1 || value->size() <= kScheme.size() ||
      !http::iequals(value->substr(0, kScheme.size()), kScheme)) {
    return std::nullopt;
  }
  return value->substr(kScheme.size());
}

awaitable<std::expected<std::string, ApiRequest::BodyError>> ApiRequest::read_body(
    std::size_t bytes_max) {
  const ApiConnections::Waiting sending(connections_, client_);
  if (message_.body_length().value_or(0) > bytes_max) {
    co_return std::unexpected(BodyError::too_large);
  }
  const auto expect = message_.field("Expect");
  if (expect && http::iequals(*expect, "100-continue") && !message_.is_done()) {
    if (!co_await client_.write("HTTP/1.1 100 Continue\r\n\r\n")) {
      co_return std::unexpected(BodyError::cut_off);
    }
  }
  std::string body;
  while (!message_.is_done()) {
    const auto piece = co_await client_.read_piece(message_);
    if (!piece) co_return std::unexpected(BodyError::cut_off);
    if (body.size() + piece->size() > bytes_max) co_return std::unexpected(BodyError::too_large);
    body += *piece;
  }
  co_return body;
}

awaitable<bool> ApiRequest::begin_stream(const std::vector<Header>& headers) {
  streamed_ = true;
  boost::system::error_code ignored;
  client_.socket().set_option(asio::socket_base::send_buffer_size(kStreamBufferBytes), ignored);
  std::string head;
  http::append_status_line(head, 200);
  for (const Header& header : headers) http::append_header(head, header.name, header.value);
  http::append_header(head, "Connection", "close");
  head += "\r\n";
  co_return co_await send(head);
}

awaitable<bool> ApiRequest::send(std::string_view piece) {
  const ApiConnections::Waiting taking(connections_, client_);
  client_.set_deadline(kTimeout);
  const auto written = co_await client_.write(piece);
  client_.clear_deadline();
  co_return written.has_value() && !client_.is_given_up();
}

ApiListener::ApiListener(runtime::Worker& worker, tcp::acceptor acceptor, Options options,
                         Answering answering)
    : worker_(worker),
      options_(options),
      answering_(std::move(answering)),
      acceptor_(std::move(acceptor)) {}

std::unique_ptr<ApiListener> ApiListener::start(runtime::Worker& worker, tcp::acceptor acceptor,
                                                Options options, Answering answering) {
  std::unique_ptr<ApiListener> listener(
      new ApiListener(worker, std::move(acceptor), options, std::move(answering)));
  engine::spawn_loop(worker.context().get_executor(), options.name,
                     [serving = listener.get()] { return serving->accept(); });
  return listener;
}

config::HostPort ApiListener::listening() const {
  const tcp::endpoint at = acceptor_.local_endpoint();
  return {at.address().to_string(), at.port()};
}

awaitable<void> ApiListener::accept() {
  for (;;) {
    boost::system::error_code error;
    tcp::socket socket(worker_.context());
    co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
      co_await worker_.services().clock.sleep(std::chrono::milliseconds(20));
      continue;
    }
    asio::co_spawn(worker_.context(), serve(std::move(socket)), engine::OrReport{options_.name});
  }
}

awaitable<void> ApiListener::serve(tcp::socket socket) {
  const auto connections = connections_;
  const runtime::Counted connected(connections->open);
  // Clients that hold connections and do nothing must not keep out others.
  if (connected.before() >= options_.connections_max && !connections->end_longest_waiting()) {
    co_return;
  }
  http::Connection client(std::move(socket), worker_.deadlines());
  bool keep_alive = true;
  while (keep_alive && !client.is_given_up()) {
    client.set_deadline(kTimeout);
    http::Request request;
    std::string why;
    http::IoResult<void> read;
    {
      const ApiConnections::Waiting asking(*connections, client);
      read = co_await client.read_head(request, kHeadBytesMax, why);
    }
    if (!read && read.error() != http::IoError::malformed) co_return;
    if (client.is_given_up()) co_return;  // its place is taken, although it asked after all
    client.set_deadline(kTimeout);        // for its body: it may have been idle for long
    ApiRequest asked(*connections, client, request);
    const Answer reply = read ? co_await answering_(asked) : malformed(why);
    if (asked.is_streamed()) break;
    keep_alive = read && request.keep_alive() && request.is_done();
    std::string head;
    http::append_status_line(head, reply.status);
    for (const Header& header : reply.headers) http::append_header(head, header.name, header.value);
    if (reply.status != 304) {  // its length would be that of the file that it leaves out
      http::append_header(head, "Content-Length", std::to_string(reply.body.size()));
    }
    http::append_header(head, "Connection", keep_alive ? "keep-alive" : "close");
    head += "\r\n";
    const bool body = request.method() != "HEAD";
    client.set_deadline(kTimeout);
    const ApiConnections::Waiting taking(*connections, client);
    if (!co_await client.write(head, body ? std::string_view(reply.body) : std::string_view{})) {
      break;
    }
  }
  const ApiConnections::Waiting closing(*connections, client);
  // Otherwise the unread rest of a refused request would reset the connection, and the answer would
  // be lost.
  co_await client.close_gently();
}

}  // namespace semel::server
