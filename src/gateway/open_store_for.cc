#include "gateway/open_store_for.h"

#include "gateway/log.h"
#include "stores/open.h"

namespace semel {

std::expected<std::unique_ptr<Store>, std::string> open_store_for(const Config& config,
                                                                  Metrics& metrics) {
  auto store = open_store(
      config.store,
      [&metrics](const GroupCommit& group) {
        metrics.store_committed(group.swaps,
                                std::chrono::duration<double>(group.longest_wait).count());
      },
      [](const std::string& what) { log_event(LogLevel::warn, "store", {{"why", what}}); });
  if (store && !(*store)->features().durable) {
    log_event(LogLevel::warn, "the memory store forgets every key when this process ends",
              {{"store", "memory"}});
  }
  return store;
}

}  // namespace semel
