#include "client/wire/connections.h"

namespace semel::client {
namespace {

constexpr std::size_t kIdleMax = 8;
// Most servers keep connections for longer. After one that did not, the first retry goes out at
// once.
constexpr auto kIdleFor = std::chrono::seconds(20);

}  // namespace

std::unique_ptr<Stream> Connections::take_idle() {
  const std::lock_guard lock(mutex_);
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    const bool young = std::chrono::steady_clock::now() - last.since < kIdleFor;
    if (young && last.stream->is_quiet()) return std::move(last.stream);
  }
  return nullptr;
}

Stream::Result<Connections::Taken> Connections::take(bool fresh, const Limits& limits) {
  if (!fresh) {
    if (auto stream = take_idle()) return Taken{std::move(stream), true};
  }
  auto stream = Stream::connect(origin_, tls_.get(), limits);
  if (!stream) return std::unexpected(stream.error());
  return Taken{*std::move(stream), false};
}

void Connections::give_back(std::unique_ptr<Stream> stream) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() == kIdleMax) idle_.erase(idle_.begin());
  idle_.push_back({std::move(stream), std::chrono::steady_clock::now()});
}

}  // namespace semel::client
