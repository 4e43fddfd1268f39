#pragma once

#include <functional>
#include <string_view>

#include "config/log.h"
#include "runtime/limits/tenant_limits.h"
#include "semel/driver/engine.h"
#include "telemetry/metrics.h"

namespace semel::server {

// Logs transitions, if the configuration asks for it, and counts what the engine reports.
class LoggingObserver final : public Observer {
 public:
  LoggingObserver(telemetry::Metrics& metrics, runtime::TenantLimits& limits,
                  const config::LogConfig& log)
      : metrics_(metrics),
        limits_(limits),
        keys_(log.keys),
        logs_changes_(log.decisions != config::LogDecisions::none) {}
  void transitioned(const Record* before, const Record* after, Time now) override;
  void found(const Record& record) override;
  void left_to_others(const Record& record) override;
  void lease_lost(const RecordId& id) override;
  void store_failed(std::string_view what, std::string_view why) override;
  void clock_stepped(Duration by) override;
  // Called with every record that becomes unknown, on whichever executor that happens. Set it
  // before the first request.
  std::function<void(const Record&, Time)> became_unknown;

 private:
  telemetry::Metrics& metrics_;
  runtime::TenantLimits& limits_;
  config::LogKeys keys_;
  bool logs_changes_;
};

}  // namespace semel::server
