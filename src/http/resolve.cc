#include "http/resolve.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>

namespace semel::http {
namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;
using boost::system::error_code;

awaitable<std::expected<std::vector<tcp::endpoint>, std::string>> resolve(
    asio::any_io_executor executor, std::string host, std::uint16_t port, Duration timeout) {
  struct Lookup {
    tcp::resolver resolver;
    asio::steady_timer patience;
    bool done = false;
    error_code error = {};
    std::vector<tcp::endpoint> endpoints = {};
  };
  auto lookup = std::make_shared<Lookup>(tcp::resolver(executor), asio::steady_timer(executor));
  lookup->patience.expires_after(timeout);
  lookup->resolver.async_resolve(host, std::to_string(port),
                                 [lookup](const error_code& error, const auto& results) {
                                   lookup->done = true;
                                   lookup->error = error;
                                   for (const auto& result : results) {
                                     lookup->endpoints.push_back(result.endpoint());
                                   }
                                   lookup->patience.cancel();
                                 });
  error_code ignored;
  co_await lookup->patience.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  if (!lookup->done) {
    lookup->resolver.cancel();  // if its turn has not come yet, it is not looked up at all
    co_return std::unexpected("resolving " + host + " took too long");
  }
  if (lookup->error) {
    co_return std::unexpected("cannot resolve " + host + ": " + lookup->error.message());
  }
  co_return std::move(lookup->endpoints);
}

}  // namespace semel::http
