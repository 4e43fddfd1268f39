#include "server/open_store.h"

#include "stores/open.h"
#include "telemetry/log.h"

namespace semel::server {

std::expected<std::unique_ptr<Store>, std::string> open_store_for(const config::Config& config,
                                                                  telemetry::Metrics& metrics) {
  auto store = stores::open_store(
      config.store,
      [&metrics](const stores::GroupCommit& group) {
        metrics.store_committed(group.swaps,
                                std::chrono::duration<double>(group.longest_wait).count());
      },
      [](const std::string& what) {
        telemetry::log_event(config::LogLevel::warn, "store", {{"why", what}});
      },
      [&metrics](std::string_view call, const std::string& why) {
        metrics.store_failed();
        telemetry::log_repeating(config::LogLevel::warn, "store failed", call,
                                 {{"call", call}, {"why", why}});
      });
  if (store && !(*store)->features().durable) {
    telemetry::log_event(config::LogLevel::warn,
                         "the memory store forgets every key when this process ends",
                         {{"store", "memory"}});
  }
  return store;
}

}  // namespace semel::server
