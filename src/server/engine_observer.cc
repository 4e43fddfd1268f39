#include "server/engine_observer.h"

#include <string>

#include "core/record_bytes.h"
#include "execution/operation_name.h"
#include "telemetry/log.h"

namespace semel::server {

void LoggingObserver::transitioned(const Record* before, const Record* after, Time now) {
  const bool changed =
      !before || !after || before->state != after->state || before->attempt != after->attempt;
  if (!after && before) metrics_.purged();
  if (limits_.counts_live()) {
    const int live =
        (after && runtime::is_live(*after) ? 1 : 0) - (before && runtime::is_live(*before) ? 1 : 0);
    if (live != 0) limits_.live_changed(after ? *after : *before, live);
  }
  const bool is_unknown = after && after->state == RecordState::unknown;
  if (is_unknown && changed && became_unknown) became_unknown(*after, now);
  if (!changed || !logs_changes_ || !telemetry::logs(config::LogLevel::info)) return;
  const Record& record = after ? *after : *before;
  const std::string id = core::shown_id(record.id);
  const std::string_view from = before ? to_string(before->state) : "absent";
  const std::string_view to = after ? to_string(after->state) : "absent";
  const std::string attempt = std::to_string(record.attempt);
  telemetry::log_event(
      config::LogLevel::info, "transition",
      {{"record", id},
       {"from", from},
       {"to", to},
       {"attempt", attempt},
       {"operation", record.operation},
       {"method", is_unknown ? std::string_view(record.description.method) : ""},
       {"path", is_unknown ? std::string_view(record.description.path) : ""},
       {"reason", record.reason},
       {"trace", record.trace},
       {"key", keys_ == config::LogKeys::full ? std::string_view(record.key) : ""}});
}

void LoggingObserver::found(const Record& record) {
  if (limits_.counts_live() && runtime::is_live(record)) limits_.live_changed(record, 1);
}

void LoggingObserver::left_to_others(const Record& record) {
  metrics_.left_to_others();
  telemetry::log_repeating(config::LogLevel::warn, "work waits for a process that has its route",
                           execution::name_in(record.operation),
                           {{"record", core::shown_id(record.id)},
                            {"state", to_string(record.state)},
                            {"operation", record.operation}});
}

void LoggingObserver::lease_lost(const RecordId& id) {
  metrics_.lease_lost();
  telemetry::log_event(config::LogLevel::warn, "lease lost", {{"record", core::shown_id(id)}});
}

void LoggingObserver::clock_stepped(Duration by) {
  telemetry::log_event(config::LogLevel::warn, "the clock was set",
                       {{"by_ms", std::to_string(by.count())}});
}

void LoggingObserver::store_failed(std::string_view what, std::string_view why) {
  metrics_.store_failed();
  telemetry::log_repeating(config::LogLevel::warn, "store failed", what,
                           {{"call", what}, {"why", why}});
}

}  // namespace semel::server
