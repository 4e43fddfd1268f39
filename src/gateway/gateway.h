#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gateway/background.h"
#include "gateway/log.h"
#include "gateway/metrics.h"
#include "gateway/observed.h"
#include "gateway/request_body.h"
#include "semel/clock.h"
#include "semel/engine.h"
#include "semel/store.h"

namespace semel {

class Prober;

// What all workers of one process share, whatever the configuration.
struct Gateway {
  Gateway(LogKeys keys, Store& store_in, Metrics& metrics_in, Clock& clock_in,
          TokenSource& tokens_in, Owner owner, std::string spool_directory);
  ~Gateway();

  Metrics& metrics;
  TenantLimits limits;
  LoggingObserver observer;
  Store& store;
  Clock& clock;
  Engine engine;
  Background background;
  Spool spool;
  const std::unique_ptr<Prober> prober;

  std::atomic<std::size_t> connections = 0;
  std::atomic<std::size_t> active = 0;          // requests being handled, waiting ones too
  std::atomic<std::size_t> in_flight = 0;       // of them, those that execute or proxy
  std::atomic<std::size_t> wait_elsewhere = 0;  // that wait for what runs in another process
  std::atomic<std::size_t> buffered_bytes = 0;  // request bodies held in memory
  std::atomic<bool> draining = false;
  ObservedInFlight observed;
};

// Request bodies held in memory at once, over all connections; beyond it, new ones are shed.
inline constexpr std::size_t kBufferedBytesMax = 512 * 1024 * 1024;

// Counts up in a shared counter for as long as it lives.
class Counted {
 public:
  explicit Counted(std::atomic<std::size_t>& counter, std::size_t by = 1)
      : counter_(&counter), by_(by), before_(counter.fetch_add(by)) {}
  Counted(Counted&& other) noexcept
      : counter_(std::exchange(other.counter_, nullptr)), by_(other.by_), before_(other.before_) {}
  Counted& operator=(Counted&&) = delete;
  ~Counted() {
    if (counter_) counter_->fetch_sub(by_);
  }
  std::size_t before() const { return before_; }
  // Counts `by` instead of what it counted so far.
  void recount(std::size_t by) {
    // Unsigned arithmetic: less wraps around to less.
    before_ = counter_->fetch_add(by - by_);
    by_ = by;
  }

 private:
  std::atomic<std::size_t>* counter_;
  std::size_t by_;
  std::size_t before_;
};

}  // namespace semel
