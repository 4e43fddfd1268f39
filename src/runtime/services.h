#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "runtime/engine_observer.h"
#include "runtime/shares.h"
#include "runtime/spare_descriptor.h"
#include "runtime/spool.h"
#include "semel/clock.h"
#include "semel/engine.h"
#include "semel/store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "telemetry/observed.h"

namespace semel {

class Background;
class Prober;
class Worker;

// Shared by all workers of one process, whatever the configuration.
struct Services {
  Services(Store& store_in, Metrics& metrics_in, Clock& machine_clock, TokenSource& tokens_in,
           Owner owner, const Config& config);

  Metrics& metrics;
  TenantLimits limits;
  LoggingObserver observer;
  Store& store;
  Engine engine;
  Clock& clock;          // the engine's
  ShareHolders holders;  // peers and tenants, with what each of them has
  Spool spool;
  // The disk of a store in this process; nullopt: the store is elsewhere.
  std::optional<DiskSpace> store_disk;

  SpareDescriptor spare_descriptor;
  // Owned by the server, which sets them before the workers run.
  std::vector<Worker*> workers;
  Background* background = nullptr;
  Prober* prober = nullptr;

  std::atomic<std::size_t> connections = 0;     // of clients that are served
  std::atomic<std::size_t> refusing = 0;        // connections that are being told there is no room
  std::atomic<std::size_t> late = 0;            // executions whose late answer is listened for
  std::atomic<std::size_t> active = 0;          // requests being handled, waiting ones too
  std::atomic<std::size_t> in_flight = 0;       // those of them that execute or proxy
  std::atomic<std::size_t> wait_elsewhere = 0;  // that wait for another process's execution
  std::atomic<std::size_t> buffered_bytes = 0;  // request bodies held in memory
  std::atomic<std::size_t> spooled_bytes = 0;   // request bodies held in files
  std::atomic<bool> draining = false;
  ObservedInFlight observed;
};

// Request bodies held in memory at once, over all connections; beyond it, new ones are shed.
inline constexpr std::size_t kBufferedBytesMax = 512 * 1024 * 1024;

}  // namespace semel
