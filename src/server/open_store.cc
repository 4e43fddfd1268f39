#include "server/open_store.h"

#include "stores/open.h"
#include "telemetry/log.h"

namespace semel {

std::expected<std::unique_ptr<Store>, std::string> open_store_for(const Config& config,
                                                                  Metrics& metrics) {
  auto store = open_store(
      config.store,
      [&metrics](const GroupCommit& group) {
        metrics.store_committed(group.swaps,
                                std::chrono::duration<double>(group.longest_wait).count());
      },
      [](const std::string& what) { log_event(LogLevel::warn, "store", {{"why", what}}); },
      [&metrics](std::string_view call, const std::string& why) {
        metrics.store_failed();
        log_repeating(LogLevel::warn, "store failed", call, {{"call", call}, {"why", why}});
      });
  if (store && !(*store)->features().durable) {
    log_event(LogLevel::warn, "the memory store forgets every key when this process ends",
              {{"store", "memory"}});
  }
  return store;
}

}  // namespace semel
