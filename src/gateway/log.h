#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "config/config.h"
#include "gateway/metrics.h"
#include "gateway/tenant_limits.h"
#include "semel/engine.h"

namespace semel {

using LogFields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Structured logging to standard error: one event a line, as text or JSON, with the node and its
// run (node.h) in each; empty fields are left out. Lines are written in groups, at the latest after
// a second; warnings and errors at once.
void start_logging(const LogConfig& config);
void log_event(LogLevel level, std::string_view event, LogFields fields);
// The same for what is said again and again while something is wrong: of one event and kind (there
// must be few) one line in ten seconds, which says how many were held back before it.
void log_repeating(LogLevel level, std::string_view event, std::string_view kind, LogFields fields);
bool logs(LogLevel level);
void flush_log();

// Logs every transition and counts what the engine reports.
class LoggingObserver final : public Observer {
 public:
  LoggingObserver(Metrics& metrics, TenantLimits& limits, LogKeys keys)
      : metrics_(metrics), limits_(limits), keys_(keys) {}
  void transitioned(const Record* before, const Record* after, Time now) override;
  void found(const Record& record) override;
  void left_to_others(const Record& record) override;
  void lease_lost(const RecordId& id) override;
  void store_failed(std::string_view what, std::string_view why) override;
  void clock_stepped(Duration by) override;
  // Called with every record that becomes unknown, on whichever executor that happens. To be set
  // before the first request.
  std::function<void(const Record&, Time)> became_unknown;

 private:
  Metrics& metrics_;
  TenantLimits& limits_;
  LogKeys keys_;
};

}  // namespace semel
