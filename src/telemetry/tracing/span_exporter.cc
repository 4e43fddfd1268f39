// The promise: exporting spans costs requests neither time nor an unbounded amount of memory,
// whatever the collector does. Spans may be lost, and are counted then.
#include "telemetry/tracing/span_exporter.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iterator>
#include <utility>

#include "engine/process_identity.h"
#include "engine/spawn.h"
#include "telemetry/log.h"
#include "telemetry/tracing/otlp.h"

namespace semel::telemetry {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t kBatchSpans = 512;
constexpr Duration kBatchEvery = std::chrono::seconds(1);
// About eight seconds of trying. Meanwhile the queue fills, and then drops.
constexpr std::uint32_t kTriesMax = 5;
constexpr Duration kBatchPauseMax = std::chrono::seconds(5);

// The answers after which the specification of OTLP asks for another try.
bool asks_again(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

std::expected<std::unique_ptr<SpanExporter>, std::string> SpanExporter::start(
    const config::TracingConfig& config, Metrics& metrics) {
  auto poster = Poster::start(config.otlp, "semel-tracing");
  if (!poster) return std::unexpected("tracing: " + poster.error());
  return std::unique_ptr<SpanExporter>(new SpanExporter(*std::move(poster), metrics));
}

SpanExporter::SpanExporter(std::unique_ptr<Poster> poster, Metrics& metrics)
    : instance_(engine::this_node().node + "/" + engine::run_text(engine::this_node())),
      poster_(std::move(poster)),
      timer_(poster_->context()) {
  auto& spans = prometheus::BuildCounter()
                    .Name("semel_trace_spans_total")
                    .Help("Spans of sampled requests by what became of them")
                    .Register(metrics.registry());
  sent_ = &spans.Add({{"result", "sent"}});
  failed_ = &spans.Add({{"result", "failed"}});
  rejected_ = &spans.Add({{"result", "rejected"}});
  dropped_ = &spans.Add({{"result", "dropped"}});
  asio::co_spawn(poster_->context(), run(), engine::OrReport{"exporting spans"});
}

SpanExporter::~SpanExporter() {
  poster_->stop();
}

void SpanExporter::wake() {
  asio::post(poster_->context(), [this] { timer_.cancel(); });
}

void SpanExporter::offer(std::vector<Span> spans) {
  bool is_enough = false;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() + spans.size() > kSpansQueuedMax) {
      dropped_->Increment(static_cast<double>(spans.size()));
      return;
    }
    std::ranges::move(spans, std::back_inserter(queue_));
    is_enough = is_idle_ && queue_.size() >= kBatchSpans;
    if (is_enough) is_idle_ = false;  // one wake-up will do
  }
  if (is_enough) wake();
}

void SpanExporter::finish(Duration at_most) {
  {
    std::unique_lock lock(mutex_);
    is_ending_ = true;
    wake();
    ended_.wait_for(lock, at_most, [this] { return has_ended_; });
  }
  poster_->stop();
  const std::lock_guard lock(mutex_);
  const std::size_t lost = queue_.size() + in_flight_;
  if (has_ended_ || lost == 0) return;
  dropped_->Increment(static_cast<double>(lost));
  log_event(config::LogLevel::warn, "spans not sent before the end",
            {{"spans", std::to_string(lost)}});
}

std::vector<Span> SpanExporter::take() {
  const std::lock_guard lock(mutex_);
  in_flight_ = std::min(queue_.size(), kBatchSpans);
  if (queue_.size() <= kBatchSpans) return std::exchange(queue_, {});
  const auto end = queue_.begin() + kBatchSpans;
  std::vector<Span> batch(std::move_iterator(queue_.begin()), std::move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return batch;
}

awaitable<void> SpanExporter::sleep(Duration duration) {
  timer_.expires_after(duration);
  boost::system::error_code ignored;
  co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

awaitable<void> SpanExporter::run() {
  for (bool is_last = false; !is_last;) {
    bool waits = false;
    {
      const std::lock_guard lock(mutex_);
      is_last = is_ending_;
      waits = is_idle_ = !is_last && queue_.size() < kBatchSpans;
    }
    if (waits) co_await sleep(kBatchEvery);
    for (std::vector<Span> batch = take(); !batch.empty(); batch = take()) {
      co_await deliver(std::move(batch));
    }
  }
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  ended_.notify_all();
}

awaitable<void> SpanExporter::deliver(std::vector<Span> batch) {
  const auto count = static_cast<double>(batch.size());
  const std::string body = encode_spans(batch, instance_);
  batch = {};
  for (std::uint32_t tries = 1;; ++tries) {
    const auto answer = co_await poster_->post(body);
    if (answer && answer->status >= 200 && answer->status < 300) {
      const double rejected = std::min(count, static_cast<double>(rejected_spans(answer->body)));
      rejected_->Increment(rejected);
      sent_->Increment(count - rejected);
      co_return;
    }
    bool gives_up = tries == kTriesMax || (answer && !asks_again(answer->status));
    {
      const std::lock_guard lock(mutex_);
      gives_up = gives_up || is_ending_;
    }
    const std::string why = answer ? "status " + std::to_string(answer->status) : answer.error();
    log_repeating(config::LogLevel::warn, "the collector takes no spans", "", {{"why", why}});
    if (gives_up) {
      failed_->Increment(count);
      co_return;
    }
    co_await sleep(Poster::pause_after(tries, kBatchPauseMax, answer));
  }
}

}  // namespace semel::telemetry
