#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "engine/system_clock.h"
#include "execution/prober.h"
#include "runtime/active_config.h"
#include "runtime/services.h"
#include "runtime/upstreams/upstream_watch.h"
#include "server/engine_observer.h"
#include "server/store_trial.h"
#include "telemetry/notifier.h"
#include "telemetry/tracing/span_exporter.h"

namespace semel::server {

// The parts of every process that executes keyed work: the store, the engine over it, the workers
// and their threads, the upkeep of records, and the order in which it all ends. It takes no work by
// itself: the gateway brings requests (Server), `semel consume` messages (ConsumeProcess).
class Process {
 public:
  // Executes by `routes`. `store` need not outlive anything else here: it is destroyed first. The
  // error is a sentence for the operator.
  static std::expected<std::unique_ptr<Process>, std::string> start(
      config::Config config, std::vector<config::RouteConfig> routes,
      runtime::KeyMaterial key_material, std::unique_ptr<telemetry::Metrics> metrics,
      std::unique_ptr<Store> store);
  ~Process();

  runtime::Services& services() { return *services_; }
  Clock& machine_clock() { return machine_clock_; }
  const std::vector<std::unique_ptr<runtime::Worker>>& workers() const { return workers_; }
  // Returns the worker for the index-th of the things that are spread over the workers.
  runtime::Worker& worker_for(std::size_t index) { return *workers_[index % workers_.size()]; }
  // Returns the first worker's loop, for what runs once per process (the admin listener, signals).
  boost::asio::io_context& context() { return workers_.front()->context(); }
  http::Deadlines& deadlines() { return workers_.front()->deadlines(); }
  // As of the last adopt(). Call it on context().
  const runtime::ActiveConfig& settings() const { return *settings_; }
  const config::Config& config() const { return settings_->config; }

  // Says what new work this process does not take on at the moment, and why, one sentence each.
  // Call it on context().
  std::vector<std::string> refused_work() const;
  // Returns when it is known whether the store takes new records. Call it on context(), while
  // run() runs.
  boost::asio::awaitable<void> store_tried() { return trial_.wait_for_first(); }

  // Executes until stopped.
  void run();
  // Accepts no more connections, gives running work up to drain_timeout to finish, then makes run()
  // return. Call it on context().
  void drain();
  // Handles new work under this configuration. Call it on context().
  boost::asio::awaitable<void> adopt(config::Config config, std::vector<config::RouteConfig> routes,
                                     runtime::KeyMaterial key_material);
  // Closes the store and destroys the workers' loops with whatever waits in them. Afterwards
  // nothing refers any more to what those who use this process have lent to it. Call it after
  // run().
  void close();

 private:
  Process(config::Config config, std::vector<config::RouteConfig> routes,
          runtime::KeyMaterial key_material, std::unique_ptr<telemetry::Metrics> metrics,
          std::unique_ptr<Store> store);
  boost::asio::awaitable<void> wait_until_idle();
  // Starts what the configuration asks for: exporting spans, notifying. The error is a sentence for
  // the operator.
  std::expected<void, std::string> start_telling();
  void notify_unknown(const Record& record, Time now);
  // Sends the spans and notifications that wait. Call it when nothing else runs.
  void tell_the_rest();

  std::unique_ptr<telemetry::Metrics> metrics_;
  std::unique_ptr<telemetry::SpanExporter> spans_;
  std::optional<telemetry::Tracer> tracer_;
  std::unique_ptr<telemetry::Notifier> notifier_;
  engine::SystemClock machine_clock_;
  engine::SystemTokens tokens_;
  std::unique_ptr<Store> store_;
  runtime::ActiveConfigPtr settings_;
  runtime::TenantLimits limits_;
  LoggingObserver observer_;
  std::unique_ptr<runtime::Services> services_;
  StoreTrial trial_;
  std::unique_ptr<execution::Prober> prober_;
  std::unique_ptr<runtime::UpstreamWatch> watch_;
  std::vector<std::unique_ptr<runtime::Worker>> workers_;
  SteadyTime drained_by_{};  // when drain_timeout is over
};

}  // namespace semel::server
