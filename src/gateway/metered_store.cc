#include "gateway/metered_store.h"

namespace semel {

boost::asio::awaitable<SwapResult> MeteredStore::swap(RecordId id, Version expected,
                                                      std::optional<Record> next) {
  const auto started = std::chrono::steady_clock::now();
  SwapResult result = co_await store_.swap(id, expected, std::move(next));
  metrics_.store_swap_took(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
  co_return result;
}

}  // namespace semel
