#include "runtime/waits.h"

#include <algorithm>

namespace semel::runtime {
namespace {

constexpr Duration kLookAgainAfter = std::chrono::milliseconds(100);

}  // namespace

boost::asio::awaitable<void> wait_elsewhere(Services& services, RecordId id, Token token,
                                            Duration timeout) {
  const Counted waiting(services.wait_elsewhere);
  // A claim that is not committed yet has no token to wait for.
  if (token != Token{} && co_await services.store.ended(id, token, timeout)) co_return;
  const bool sees_all = services.store.features().exclusive;
  if (sees_all && co_await services.engine.watch(id, token, timeout)) co_return;
  co_await services.clock.sleep(std::min(timeout, kLookAgainAfter));
}

}  // namespace semel::runtime
