#include "relay/deliveries.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include "base/backoff.h"
#include "base/random.h"
#include "config/reading/relay.h"
#include "engine/spawn.h"
#include "relay/destinations/broker_destination.h"
#include "relay/destinations/http_destination.h"
#include "telemetry/log.h"
#include "telemetry/notifier.h"

namespace semel::relay {
namespace asio = boost::asio;

namespace {

constexpr std::size_t kUrlsKept = 256;

void note(const Lane& lane, const Message& message, const Report& report) {
  if (report.verdict == Verdict::delivered) return;
  const bool again = report.verdict == Verdict::retry;
  telemetry::log_event(
      again ? config::LogLevel::warn : config::LogLevel::error,
      again ? "delivery failed" : "dead letter",
      {{"destination", loggable(lane.destination)},
       {"id", std::to_string(message.id)},
       {"attempt", std::to_string(message.attempts + 1)},
       {"why", report.why},
       {"again_in_ms", again ? std::to_string(report.delay.count()) : std::string()}});
}

}  // namespace

std::string_view loggable(std::string_view destination) {
  const bool is_url = destination.starts_with("http://") || destination.starts_with("https://");
  return is_url ? destination.substr(0, destination.find('?')) : destination;
}

Deliveries::Deliveries(asio::io_context& context, const config::RelayConfig& config,
                       const Clock& clock, std::function<void(Report)> report,
                       telemetry::Notifier* notifier)
    : context_(context),
      config_(config),
      clock_(clock),
      report_(std::move(report)),
      notifier_(notifier),
      deadlines_(context.get_executor()) {}

Deliveries::~Deliveries() = default;

std::expected<void, std::string> Deliveries::open() {
  for (const config::RelayDestination& config : config_.destinations) {
    auto made = make(config);
    if (!made) return std::unexpected("destination " + config.name + ": " + made.error());
    named_[config.name] = *std::move(made);
  }
  engine::spawn_loop(context_.get_executor(), "watching deadlines",
                     [this] { return deadlines_.run(); });
  return {};
}

std::expected<std::shared_ptr<Destination>, std::string> Deliveries::make(
    config::RelayDestination config) {
  const auto executor = context_.get_executor();
  if (config.broker) return BrokerDestination::make(std::move(config), executor);
  return HttpDestination::make(std::move(config), executor, deadlines_, clock_);
}

void Deliveries::start(std::shared_ptr<Lane> lane) {
  asio::post(context_, [this, lane = std::move(lane)]() mutable {
    asio::co_spawn(context_, run(std::move(lane)), engine::OrStop{"delivering"});
  });
}

void Deliveries::close() {
  asio::post(context_, [this] {
    deadlines_.stop();
    named_.clear();
    by_url_.clear();
  });
}

std::shared_ptr<Destination> Deliveries::find(const std::string& name) {
  if (const auto found = named_.find(name); found != named_.end()) return found->second;
  if (!config_.allow_urls) return nullptr;
  if (const auto found = by_url_.find(name); found != by_url_.end()) return found->second;
  auto config = config::reading::destination_of(name, name);
  if (!config) return nullptr;
  auto made = make(*std::move(config));
  if (!made) return nullptr;
  if (by_url_.size() >= kUrlsKept) {
    std::erase_if(by_url_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  return by_url_[name] = *std::move(made);
}

Report Deliveries::judge(const Lane& lane, const Message& message, const Outcome& outcome) {
  Report report{lane.lane, lane.lease, message.id, Verdict::delivered};
  if (std::holds_alternative<Delivered>(outcome)) return report;
  const int failures = message.attempts + 1;
  if (const auto* retry = std::get_if<Retry>(&outcome)) {
    report.why = retry->why;
    if (static_cast<std::size_t>(failures) < config_.max_attempts) {
      report.verdict = Verdict::retry;
      const Duration limit = base::backoff_after(static_cast<std::uint64_t>(failures),
                                                 config_.backoff_min, config_.backoff_max);
      report.delay = base::drawn_up_to(limit, base::random_number());
      if (retry->after) report.delay = std::max(report.delay, *retry->after);
      return report;
    }
  } else {
    report.why = std::get<Refused>(outcome).why;
  }
  const bool blocks = config_.on_dead == config::OnDead::block && lane.ordered;
  report.verdict = blocks ? Verdict::blocked : Verdict::dead;
  return report;
}

void Deliveries::notify_dead(const Lane& lane, const Message& message, const Report& report) const {
  const bool is_dead = report.verdict == Verdict::dead || report.verdict == Verdict::blocked;
  if (!notifier_ || !is_dead) return;
  const std::string destination(loggable(lane.destination));
  notifier_->notify({.type = telemetry::kDeadLetterNotice,
                     .name = destination,
                     .at = clock_.now(),
                     .operation = destination,
                     .key = message.key,
                     .reason = "message " + std::to_string(message.id) + ": " + report.why,
                     .attempt = static_cast<std::uint32_t>(message.attempts + 1)});
}

asio::awaitable<void> Deliveries::run(std::shared_ptr<Lane> lane) {
  const std::shared_ptr<Destination> destination = find(lane->destination);
  for (const Message& message : lane->messages) {
    const bool is_ours = !lane->lost && std::chrono::steady_clock::now() < lane->until.load();
    if (winding_up_ || !is_ours) break;
    Outcome outcome = Retry{"the destination cannot be used"};
    try {
      // The message lives as long as anybody holds it: a broker's thread may hold it longer than
      // this.
      const std::shared_ptr<const Message> shared(lane, &message);
      if (destination) outcome = co_await destination->deliver(shared);
    } catch (const std::exception& error) {
      outcome = Retry{error.what()};
    }
    Report report = judge(*lane, message, outcome);
    const Verdict verdict = report.verdict;
    note(*lane, message, report);
    notify_dead(*lane, message, report);
    report_(std::move(report));
    if (verdict == Verdict::retry || verdict == Verdict::blocked) co_return;
    // The messages after a dead letter are sent only once that is written down: if this process
    // died before, the next one would try the dead letter again, and it would be taken after those
    // that follow it.
    if (verdict == Verdict::dead) break;
  }
  report_(Report{lane->lane, lane->lease, 0, Verdict::end});
}

}  // namespace semel::relay
