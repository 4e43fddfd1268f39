#include "http/pooled_connection.h"

#include <utility>

namespace semel::http {

bool PooledConnection::take_idle(Duration idle_max) {
  if (std::exchange(looked_, true)) return false;
  connection_ = pool_.take_idle(idle_max);
  was_idle_ = connection_ != nullptr;
  return was_idle_;
}

boost::asio::awaitable<std::expected<void, std::string>> PooledConnection::connect(
    Duration timeout) {
  connection_.reset();
  was_idle_ = false;
  auto connected = co_await pool_.connect(timeout);
  if (!connected) co_return std::unexpected(std::move(connected.error()));
  connection_ = *std::move(connected);
  co_return std::expected<void, std::string>{};
}

void PooledConnection::give_back(const Response& answer) {
  if (answer.is_done() && answer.keep_alive()) pool_.give_back(std::move(connection_));
}

}  // namespace semel::http
