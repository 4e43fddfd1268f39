#pragma once

#include <functional>
#include <string_view>

#include "config/log.h"
#include "runtime/limits/tenant_limits.h"
#include "semel/driver/engine.h"
#include "telemetry/metrics.h"

namespace semel::server {

// Logs every transition and counts what the engine reports.
class LoggingObserver final : public Observer {
 public:
  LoggingObserver(telemetry::Metrics& metrics, runtime::TenantLimits& limits, config::LogKeys keys)
      : metrics_(metrics), limits_(limits), keys_(keys) {}
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
};

}  // namespace semel::server
