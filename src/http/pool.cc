#include "http/pool.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/resolve.h"

namespace semel::http {
namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;
using boost::system::error_code;

namespace {
constexpr std::size_t kIdleConnectionsMax = 1024;
}  // namespace

UpstreamPool::UpstreamPool(asio::any_io_executor executor, Deadlines& deadlines, std::string host,
                           std::uint16_t port, std::shared_ptr<const TlsClient> tls,
                           std::string address)
    : executor_(std::move(executor)),
      deadlines_(deadlines),
      host_(std::move(host)),
      port_(port),
      address_(address.empty() ? host_ : std::move(address)),
      tls_(std::move(tls)) {}

void UpstreamPool::use_tls(std::shared_ptr<const TlsClient> tls) {
  if (tls == tls_) return;
  tls_ = std::move(tls);
  for (Idle& idle : idle_) idle.connection->end();
  idle_.clear();
}

std::unique_ptr<Connection> UpstreamPool::take_idle(Duration idle_max) {
  const auto oldest = deadlines_.now() - idle_max;
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (last.since <= oldest) break;  // and so is every one before it
    if (last.connection->is_quiet()) return std::move(last.connection);
  }
  if (!idle_.empty()) prune(idle_max);
  return nullptr;
}

awaitable<std::expected<std::unique_ptr<Connection>, std::string>> UpstreamPool::connect(
    Duration timeout) {
  const auto give_up = deadlines_.now() + timeout;
  error_code error;
  std::vector<tcp::endpoint> endpoints;
  const auto address = asio::ip::make_address(address_, error);
  if (!error) {
    endpoints.emplace_back(address, port_);
  } else {
    auto resolved = co_await resolve(executor_, host_, port_, timeout);
    if (!resolved) co_return std::unexpected(std::move(resolved.error()));
    endpoints = *std::move(resolved);
  }
  for (const tcp::endpoint& endpoint : endpoints) {
    auto connection = std::make_unique<Connection>(tcp::socket(executor_), deadlines_);
    connection->set_deadline(std::chrono::duration_cast<Duration>(give_up - deadlines_.now()));
    co_await connection->socket().async_connect(endpoint,
                                                asio::redirect_error(asio::use_awaitable, error));
    if (!error) {
      connection->socket().set_option(tcp::no_delay(true), error);
      if (tls_) {
        auto secured = co_await connection->start_tls(tls_->new_session(host_));
        if (!secured) co_return std::unexpected(std::move(secured.error()));
      }
      connection->clear_deadline();
      co_return connection;
    }
    if (connection->timed_out()) co_return std::unexpected("connecting took too long");
  }
  co_return std::unexpected("cannot connect: " + error.message());
}

void UpstreamPool::give_back(std::unique_ptr<Connection> connection) {
  connection->clear_deadline();
  // No byte that came after the answer may be taken for part of another answer.
  if (connection->has_unread()) return;
  if (idle_.size() < kIdleConnectionsMax)
    idle_.push_back({std::move(connection), deadlines_.now()});
}

void UpstreamPool::prune(Duration idle_max) {
  const auto oldest = deadlines_.now() - idle_max;
  std::erase_if(idle_, [&](const Idle& idle) {
    if (idle.since > oldest) return false;
    idle.connection->end();
    return true;
  });
}

}  // namespace semel::http
