#include "cli/http_ask.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

namespace semel::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr auto kConnectTimeout = std::chrono::seconds(5);
constexpr std::size_t kAnswerBytesMax = 64 * 1024 * 1024;

asio::awaitable<HttpResponse> exchange(std::string host, std::string port, HttpRequest request,
                                       std::chrono::milliseconds timeout) {
  auto executor = co_await asio::this_coro::executor;
  asio::ip::tcp::resolver resolver(executor);
  beast::tcp_stream stream(executor);
  const auto found = co_await resolver.async_resolve(host, port, asio::use_awaitable);
  stream.expires_after(kConnectTimeout);
  co_await stream.async_connect(found, asio::use_awaitable);
  stream.expires_after(timeout);
  co_await http::async_write(stream, request, asio::use_awaitable);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kAnswerBytesMax);
  co_await http::async_read(stream, buffer, parser, asio::use_awaitable);
  co_return parser.release();
}

}  // namespace

std::expected<HttpResponse, std::string> http_ask(const std::string& host, std::uint16_t port,
                                                  HttpRequest request,
                                                  std::chrono::milliseconds timeout) {
  const bool v6 = host.find(':') != std::string::npos;
  request.set(http::field::host,
              fmt::format("{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "", port));
  request.set(http::field::connection, "close");
  request.prepare_payload();

  asio::io_context context;
  std::expected<HttpResponse, std::string> answer;
  asio::co_spawn(context, exchange(host, std::to_string(port), std::move(request), timeout),
                 [&](std::exception_ptr failed, HttpResponse response) {
                   try {
                     if (failed) std::rethrow_exception(failed);
                     answer = std::move(response);
                   } catch (const std::exception& error) {
                     answer = std::unexpected(error.what());
                   }
                 });
  context.run();
  return answer;
}

}  // namespace semel::cli
