#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/route.h"

namespace semel::runtime {

// The circuit breaker of a route: stops sending requests on while they fail, so that clients are
// told at once and the service can recover. Thread-safe; takes no lock while all is well.
//
// It opens after `failures` within `window`, and then refuses everything for `open_for`. After
// that one request per `open_for` is let through as a trial. A trial that succeeds closes it; one
// that fails keeps it open for another `open_for`. Requests that were let through before it opened
// change nothing.
class Circuit {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  Circuit(std::string route, const config::CircuitConfig& config);
  Circuit(const Circuit&) = delete;
  Circuit& operator=(const Circuit&) = delete;

  // The right to send one request on. Report its end with succeeded() or failed(), or that it was
  // not sent with give_back(). A trial that is never reported holds up the next one.
  struct Pass {
    bool is_trial = false;
    std::uint64_t opening = 0;  // how often the circuit had opened
  };
  // Takes a pass. The error says how long to wait.
  std::expected<Pass, Duration> enter(Instant now);
  // Says whether enter() would refuse now, without taking a trial from those who can use it.
  std::expected<void, Duration> check(Instant now);
  // The pass of a request that is sent while the circuit is closed. Takes no lock.
  Pass while_closed() const { return {.is_trial = false, .opening = opened()}; }
  void succeeded(Pass pass);
  void failed(Pass pass, Instant now);
  void give_back(Pass pass, Instant now);

  bool is_open() const { return open_until_.load(std::memory_order_relaxed) != 0; }
  // Counted since the start.
  std::uint64_t opened() const { return opened_.load(std::memory_order_relaxed); }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

  const config::CircuitConfig& config() const { return config_; }

 private:
  using Ticks = Instant::rep;

  // Returns how long it is closed to everybody; nullopt: it is not, or a trial is due. Call it with
  // the mutex.
  std::optional<Duration> closed_for(Instant now);
  void open_until(Instant at);
  // Returns whether it says anything about the present: it was let through since the last opening.
  bool is_recent(Pass pass) const { return pass.opening == opened(); }

  const std::string route_;
  const config::CircuitConfig config_;
  std::atomic<Ticks> open_until_ = 0;  // 0: it is closed
  std::atomic<std::uint64_t> opened_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::mutex mutex_;  // guards the rest, and changes of open_until_
  // When the latest failures were; the oldest is at next_. As many as open it.
  std::vector<Instant> failures_;
  std::size_t next_ = 0;
};
using CircuitPtr = std::shared_ptr<Circuit>;

// Makes the circuits of the routes; null where there is none. A route whose circuit is the same in
// `running_routes` keeps it.
std::vector<CircuitPtr> make_circuits(const std::vector<config::RouteConfig>& routes,
                                      const std::vector<config::RouteConfig>& running_routes,
                                      const std::vector<CircuitPtr>& running);

// Returns whether an answer with this status is a failure of the service, as a circuit counts it.
constexpr bool is_service_failure(int status) {
  return status == 502 || status == 503 || status == 504;
}

}  // namespace semel::runtime
