#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "runtime/limits/shares.h"
#include "runtime/limits/spare_descriptor.h"
#include "runtime/limits/tenant_limits.h"
#include "runtime/spool.h"
#include "semel/driver/clock.h"
#include "semel/driver/engine.h"
#include "semel/driver/store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "telemetry/observed.h"
#include "telemetry/recent_decisions.h"
#include "telemetry/tracing/trace.h"

namespace semel::execution {
class Background;
class Prober;
}  // namespace semel::execution

namespace semel::telemetry {
class Notifier;
}  // namespace semel::telemetry

namespace semel::runtime {

class Worker;

// Shared by all workers of one process, whatever the configuration.
struct Services {
  Services(Store& store_in, telemetry::Metrics& metrics_in, TenantLimits& limits_in,
           Observer& observer, Clock& machine_clock, TokenSource& tokens_in, Owner owner,
           const config::Config& config);

  telemetry::Metrics& metrics;
  TenantLimits& limits;
  Store& store;
  Engine engine;
  Clock& clock;          // the engine's
  ShareHolders holders;  // peers and tenants, with what each of them has
  Spool spool;
  // The disk of a store in this process; nullopt: the store is elsewhere.
  std::optional<stores::DiskSpace> store_disk;

  SpareDescriptor spare_descriptor;
  // Owned by those who run the process, and set before the workers run.
  std::vector<Worker*> workers;
  execution::Background* background = nullptr;  // null where no requests are queued
  execution::Prober* prober = nullptr;
  const telemetry::Tracer* tracer = nullptr;  // null: nothing is traced
  telemetry::Notifier* notifier = nullptr;    // null: nobody is told

  // Returns the trace of a request or message that came with this traceparent; empty unless it is
  // sampled.
  telemetry::Trace begin_trace(std::string_view traceparent, telemetry::SpanKind kind) const {
    return tracer ? tracer->begin(traceparent, kind) : telemetry::Trace();
  }

  std::atomic<std::size_t> connections = 0;     // of clients that are served
  std::atomic<std::size_t> refusing = 0;        // connections that are being told there is no room
  std::atomic<std::size_t> late = 0;            // executions whose late answer is listened for
  std::atomic<std::size_t> active = 0;          // requests being handled, waiting ones too
  std::atomic<std::size_t> in_flight = 0;       // those of them that execute or proxy
  std::atomic<std::size_t> wait_elsewhere = 0;  // that wait for another process's execution
  std::atomic<std::size_t> buffered_bytes = 0;  // request bodies held in memory
  std::atomic<std::size_t> spooled_bytes = 0;   // request bodies held in files
  std::atomic<bool> draining = false;
  // No request begins any more: the process has waited for those that run and is about to end. Look
  // at it after counting in `active`, so that either the request is waited for or it sees this.
  std::atomic<bool> ending = false;
  telemetry::ObservedInFlight observed;
  telemetry::RecentDecisions decisions;
};

// Request bodies in memory, all together: 2048 of kSpooledAboveBytes. Beyond it, new ones are shed.
inline constexpr std::size_t kBufferedBytesMax = 512 * 1024 * 1024;

}  // namespace semel::runtime
