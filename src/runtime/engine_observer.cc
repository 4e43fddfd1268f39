#include "runtime/engine_observer.h"

#include <string>

#include "telemetry/log.h"

namespace semel {
namespace {

constexpr std::size_t kIdDigitsShown = 16;

}  // namespace

void LoggingObserver::transitioned(const Record* before, const Record* after, Time now) {
  const bool changed =
      !before || !after || before->state != after->state || before->attempt != after->attempt;
  if (!after && before) metrics_.purged();
  if (limits_.counts_live()) {
    const int live = (after && is_live(*after) ? 1 : 0) - (before && is_live(*before) ? 1 : 0);
    if (live != 0) limits_.live_changed(after ? *after : *before, live);
  }
  const bool is_unknown = after && after->state == RecordState::unknown;
  if (is_unknown && changed && became_unknown) became_unknown(*after, now);
  if (!changed || !logs(LogLevel::info)) return;
  const Record& record = after ? *after : *before;
  const std::string id = record.id.hex().substr(0, kIdDigitsShown);
  const std::string_view from = before ? to_string(before->state) : "absent";
  const std::string_view to = after ? to_string(after->state) : "absent";
  const std::string attempt = std::to_string(record.attempt);
  log_event(LogLevel::info, "transition",
            {{"record", id},
             {"from", from},
             {"to", to},
             {"attempt", attempt},
             {"operation", record.operation},
             {"reason", record.reason},
             {"trace", record.trace},
             {"key", keys_ == LogKeys::full ? std::string_view(record.key) : ""}});
}

void LoggingObserver::found(const Record& record) {
  if (limits_.counts_live() && is_live(record)) limits_.live_changed(record, 1);
}

void LoggingObserver::left_to_others(const Record& record) {
  metrics_.left_to_others();
  log_repeating(LogLevel::warn, "work waits for a process that has its route", record.operation,
                {{"record", record.id.hex().substr(0, kIdDigitsShown)},
                 {"state", to_string(record.state)},
                 {"operation", record.operation}});
}

void LoggingObserver::lease_lost(const RecordId& id) {
  metrics_.lease_lost();
  log_event(LogLevel::warn, "lease lost", {{"record", id.hex().substr(0, kIdDigitsShown)}});
}

void LoggingObserver::clock_stepped(Duration by) {
  log_event(LogLevel::warn, "the clock was set", {{"by_ms", std::to_string(by.count())}});
}

void LoggingObserver::store_failed(std::string_view what, std::string_view why) {
  metrics_.store_failed();
  log_repeating(LogLevel::warn, "store failed", what, {{"call", what}, {"why", why}});
}

}  // namespace semel
