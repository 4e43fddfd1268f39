#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/telemetry.h"
#include "telemetry/metrics.h"
#include "telemetry/poster.h"
#include "telemetry/tracing/span.h"

namespace semel::telemetry {

// Spans that wait. A request has about five, so this is a second of 1,600 sampled requests.
inline constexpr std::size_t kSpansQueuedMax = 8192;

// Sends spans to a collector, by OTLP over HTTP, in batches. Holds nobody up: spans that find the
// queue full are dropped, and a batch that the collector does not take after a few tries is given
// up. semel_trace_spans_total counts what became of them.
class SpanExporter {
 public:
  // The error is a sentence for the operator.
  static std::expected<std::unique_ptr<SpanExporter>, std::string> start(
      const config::TracingConfig& config, Metrics& metrics);
  ~SpanExporter();

  // Thread-safe; never waits.
  void offer(std::vector<Span> spans);
  // Sends what waits, then stops; stops after `at_most` in any case. Call it when nothing is
  // offered any more.
  void finish(Duration at_most);

 private:
  SpanExporter(std::unique_ptr<Poster> poster, Metrics& metrics);
  boost::asio::awaitable<void> run();
  // Sleeps for that long, or until the timer is cancelled.
  boost::asio::awaitable<void> sleep(Duration duration);
  std::vector<Span> take();
  boost::asio::awaitable<void> deliver(std::vector<Span> batch);
  void wake();

  prometheus::Counter* sent_;
  prometheus::Counter* failed_;
  prometheus::Counter* rejected_;
  prometheus::Counter* dropped_;
  const std::string instance_;

  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<Span> queue_;
  std::size_t in_flight_ = 0;  // spans of the batch that is being sent
  bool is_idle_ = false;       // the loop waits for spans
  bool is_ending_ = false;     // no more will come
  bool has_ended_ = false;

  std::unique_ptr<Poster> poster_;
  boost::asio::steady_timer timer_;
};

}  // namespace semel::telemetry
