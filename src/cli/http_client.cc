#include "cli/http_client.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/system_error.hpp>
#include <stdexcept>

namespace semel::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace beast_http = boost::beast::http;

constexpr auto kConnectTimeout = std::chrono::seconds(5);
constexpr std::size_t kAnswerBytesMax = 64 * 1024 * 1024;

asio::awaitable<HttpResponse> exchange(std::string host, std::string port, HttpRequest request,
                                       std::chrono::milliseconds timeout,
                                       const HttpClient::WhenSent& when_sent, bool& connected) {
  auto executor = co_await asio::this_coro::executor;
  asio::ip::tcp::resolver resolver(executor);
  beast::tcp_stream stream(executor);
  const auto found = co_await resolver.async_resolve(host, port, asio::use_awaitable);
  stream.expires_after(kConnectTimeout);
  co_await stream.async_connect(found, asio::use_awaitable);
  connected = true;
  stream.expires_after(timeout);
  co_await beast_http::async_write(stream, request, asio::use_awaitable);
  if (!when_sent()) throw std::runtime_error("the client went away");
  beast::flat_buffer buffer;
  beast_http::response_parser<beast_http::string_body> parser;
  parser.body_limit(kAnswerBytesMax);
  co_await beast_http::async_read(stream, buffer, parser, asio::use_awaitable);
  co_return parser.release();
}

}  // namespace

std::expected<HttpResponse, HttpFailure> HttpClient::ask(HttpRequest request,
                                                         const WhenSent& when_sent) const {
  const bool v6 = host_.find(':') != std::string::npos;
  request.set(beast_http::field::host,
              fmt::format("{}{}{}:{}", v6 ? "[" : "", host_, v6 ? "]" : "", port_));
  request.set(beast_http::field::connection, "close");
  request.prepare_payload();

  asio::io_context context;
  std::expected<HttpResponse, HttpFailure> answer;
  bool connected = false;
  auto asking =
      exchange(host_, std::to_string(port_), std::move(request), timeout_, when_sent, connected);
  asio::co_spawn(context, std::move(asking), [&](std::exception_ptr failed, HttpResponse response) {
    try {
      if (failed) std::rethrow_exception(failed);
      answer = std::move(response);
    } catch (const boost::system::system_error& error) {
      // what() would add a place in the source code.
      answer = std::unexpected(HttpFailure{error.code().message(), connected});
    } catch (const std::exception& error) {
      answer = std::unexpected(HttpFailure{error.what(), connected});
    }
  });
  context.run();
  return answer;
}

}  // namespace semel::cli
