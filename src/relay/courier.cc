#include "relay/courier.h"

#include <poll.h>

#include <algorithm>
#include <thread>

#include "base/backoff.h"
#include "base/random.h"
#include "config/reading/relay.h"
#include "semel/derive.h"
#include "telemetry/log.h"

namespace semel::relay {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// While there is traffic the outbox is looked at this often, so that those who enqueue need not
// notify.
constexpr auto kLookEvery = milliseconds(20);
constexpr int kQuietLooks = 3;  // then notifications are relied on
constexpr Duration kLookSoonest = milliseconds(5);
// For while a transaction is open that enqueued and will not notify.
constexpr auto kLookForOpenEvery = milliseconds(50);
// Looks at least this often: notifications can be lost, and so can the relay that was idle instead
// of us.
constexpr auto kLookAnyway = seconds(1);
constexpr auto kUnconfiguredEvery = seconds(10);
constexpr auto kUnconfiguredAgain = minutes(10);
// Payload bytes held per destination. Beyond it, no more lanes are taken before some have ended.
constexpr std::size_t kHeldBytesMax = 32 << 20;
constexpr std::size_t kNamesMax = 500;  // destinations that are URLs, per window
constexpr std::size_t kUnconfiguredMax = 1000;
constexpr Duration kReconnectMin = milliseconds(100);
constexpr Duration kReconnectMax = seconds(5);
// Granted even if there is no time left: a database that takes longer is in trouble.
constexpr Duration kPatienceMin = seconds(1);

bool is_url(std::string_view name) {
  return (name.starts_with("http://") || name.starts_with("https://")) &&
         config::reading::destination_of(name, name).has_value();
}

}  // namespace

Courier::Courier(std::string url, std::string schema, const config::RelayConfig& config,
                 Duration drain_timeout, std::string who)
    : url_(std::move(url)),
      schema_(std::move(schema)),
      config_(config),
      drain_timeout_(drain_timeout),
      who_(std::move(who)) {
  for (const config::RelayDestination& destination : config.destinations) {
    names_.push_back(destination.name);
  }
}

Courier::Result Courier::open() {
  auto opened = Outbox::open(url_, schema_, who_, ++connections_, patience());
  if (!opened) return std::unexpected(std::move(opened.error()));
  outbox_ = *std::move(opened);
  return {};
}

void Courier::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (!give_up_) give_up_ = Clock::now() + drain_timeout_;
  }
  wakeup_.signal();
}

void Courier::report(Report report) {
  {
    const std::lock_guard lock(mutex_);
    reported_.push_back(std::move(report));
  }
  wakeup_.signal();
}

bool Courier::run(Deliveries& deliveries) {
  bool winds_up = false;
  for (;;) {
    std::optional<Clock::time_point> give_up;
    wakeup_.clear();
    {
      const std::lock_guard lock(mutex_);
      give_up = give_up_;
      std::ranges::move(reported_, std::back_inserter(unwritten_));
      reported_.clear();
    }
    if (give_up) {
      if (!winds_up) {
        winds_up = true;
        deliveries.wind_up();
        look_at_ = Clock::time_point::max();
      }
      if (is_done()) return true;
      if (Clock::now() > *give_up) return false;
    }
    if (!outbox_) {
      reconnect();
      continue;
    }
    outbox_->set_patience(patience());
    const Result done = round(deliveries);
    if (done) continue;
    telemetry::log_event(config::LogLevel::error, "the outbox cannot be reached",
                         {{"why", done.error()}});
    outbox_.reset();
  }
}

Duration Courier::patience() {
  const std::lock_guard lock(mutex_);
  if (!give_up_) return postgres::PgBlocking::kPatience;
  const auto left = std::chrono::ceil<Duration>(*give_up_ - Clock::now());
  return std::clamp<Duration>(left, kPatienceMin, postgres::PgBlocking::kPatience);
}

void Courier::reconnect() {
  if (failures_ > 0) {
    const Duration limit =
        base::backoff_after(static_cast<std::uint64_t>(failures_), kReconnectMin, kReconnectMax);
    const Duration pause = base::drawn_up_to(limit, base::random_number());
    pollfd watched{wakeup_.descriptor(), POLLIN, 0};
    // Reports wake us too, and nothing can be done with them yet, so sleep at least this long.
    poll(&watched, 1, static_cast<int>(pause.count()));
    std::this_thread::sleep_for(kReconnectMin);
  }
  idle_ = false;
  const Result opened = open();
  if (!opened) {
    ++failures_;
    telemetry::log_event(config::LogLevel::warn, "the outbox cannot be reached",
                         {{"why", opened.error()}, {"tries", std::to_string(failures_)}});
    return;
  }
  telemetry::log_event(config::LogLevel::info, "the outbox is reached again", {});
  failures_ = 0;
  quiet_looks_ = 0;
  renew_at_ = Clock::now();
  if (look_at_ != Clock::time_point::max()) look_at_ = Clock::now();
}

Courier::Result Courier::round(Deliveries& deliveries) {
  if (!unwritten_.empty()) {
    if (Result done = write_down(); !done) return done;
  }
  if (!held_.empty() && Clock::now() >= renew_at_) {
    if (Result done = renew(); !done) return done;
  }
  if (Clock::now() >= look_at_) {
    if (Result done = look(deliveries); !done) return done;
  }
  return sleep();
}

Courier::Result Courier::write_down() {
  const auto lost = outbox_->report(unwritten_);
  if (!lost) return std::unexpected(lost.error());
  lose(*lost);
  bool ended = false;
  for (const Report& report : unwritten_) {
    const bool gives_back = report.verdict != Verdict::delivered && report.verdict != Verdict::dead;
    if (!gives_back) continue;
    const auto lane = held_.find(report.lease);
    if (lane == held_.end()) continue;
    ended = true;
    const auto busy = busy_.find(lane->second->destination);
    busy->second.bytes -= lane->second->bytes;
    if (--busy->second.lanes == 0) busy_.erase(busy);
    held_.erase(lane);
  }
  unwritten_.clear();
  // There may be more messages behind, or in other lanes.
  if (ended && look_at_ != Clock::time_point::max()) look_at_ = Clock::now();
  return {};
}

Courier::Result Courier::renew() {
  std::vector<std::int64_t> lanes;
  std::vector<LeaseId> leases;
  for (const auto& [lease, lane] : held_) {
    if (lane->lost) continue;
    lanes.push_back(lane->lane);
    leases.push_back(lease);
  }
  const auto until = Clock::now() + config_.lease;
  const auto lost = outbox_->renew(lanes, leases, config_.lease);
  if (!lost) return std::unexpected(lost.error());
  for (const LeaseId& lease : leases) held_.at(lease)->until = until;
  lose(*lost);
  renew_at_ = Clock::now() + config_.lease / 3;
  return {};
}

// Notes leases that another relay has now. Deliveries under them are finished, but their reports
// will change nothing.
void Courier::lose(const std::vector<LeaseId>& leases) {
  for (const LeaseId& lease : leases) {
    const auto lane = held_.find(lease);
    if (lane == held_.end() || lane->second->lost.exchange(true)) continue;
    telemetry::log_event(config::LogLevel::warn,
                         "a lease was lost: what was delivered under it is delivered again",
                         {{"destination", loggable(lane->second->destination)},
                          {"lane", std::to_string(lane->second->lane)}});
  }
}

Courier::Result Courier::look(Deliveries& deliveries) {
  if (config_.allow_urls) {
    if (Result done = find_urls(); !done) return done;
  }
  if (Clock::now() >= unconfigured_at_) {
    if (Result done = warn_of_unconfigured_destinations(); !done) return done;
  }
  const auto taken = take(deliveries);
  if (!taken) return std::unexpected(taken.error());
  if (*taken > 0 || !urls_after_.empty()) {
    quiet_looks_ = 0;
    look_at_ = Clock::now() + (*taken > 0 ? milliseconds(kLookEvery) : milliseconds(0));
    return get_up();
  }
  if (++quiet_looks_ < kQuietLooks) {
    look_at_ = Clock::now() + kLookEvery;
    return {};
  }
  return settle_down(deliveries);
}

// Reads the next window of the destinations that are URLs.
Courier::Result Courier::find_urls() {
  auto found = outbox_->destinations(urls_after_, kNamesMax);
  if (!found) return std::unexpected(found.error());
  urls_after_ = found->size() == kNamesMax ? found->back() : std::string();
  urls_.clear();
  for (std::string& name : *found) {
    if (std::ranges::find(names_, name) == names_.end() && is_url(name)) {
      urls_.push_back(std::move(name));
    }
  }
  return {};
}

Courier::Result Courier::warn_of_unconfigured_destinations() {
  const auto found = outbox_->destinations("", kUnconfiguredMax);
  if (!found) return std::unexpected(found.error());
  unconfigured_at_ = Clock::now() + kUnconfiguredEvery;
  if (Clock::now() >= unconfigured_forget_at_) {
    unconfigured_destinations_.clear();
    unconfigured_forget_at_ = Clock::now() + kUnconfiguredAgain;
  }
  for (const std::string& name : *found) {
    if (std::ranges::find(names_, name) != names_.end()) continue;
    if (config_.allow_urls && is_url(name)) continue;
    if (unconfigured_destinations_.size() >= kUnconfiguredMax ||
        !unconfigured_destinations_.insert(name).second)
      continue;
    telemetry::log_event(config::LogLevel::warn,
                         "messages wait for a destination that is not configured",
                         {{"destination", loggable(name)}});
  }
  return {};
}

Courier::Open Courier::open_destinations() const {
  Open open;
  const auto add = [&](const std::string& name) {
    const auto found = busy_.find(name);
    const Busy busy = found == busy_.end() ? Busy{} : found->second;
    if (busy.lanes >= config_.parallel || busy.bytes >= kHeldBytesMax) {
      open.all = false;
      return;
    }
    open.rooms.push_back({name, static_cast<std::int64_t>(config_.parallel - busy.lanes),
                          static_cast<std::int64_t>(kHeldBytesMax - busy.bytes), busy.lanes == 0});
  };
  for (const std::string& name : names_) add(name);
  for (const std::string& name : urls_) add(name);
  return open;
}

std::expected<std::size_t, std::string> Courier::take(Deliveries& deliveries) {
  const Open open = open_destinations();
  if (open.rooms.empty()) return 0;
  const auto until = Clock::now() + config_.lease;
  if (held_.empty()) renew_at_ = Clock::now() + config_.lease / 3;
  auto lanes = outbox_->take(open.rooms, config_.lease);
  if (!lanes) return std::unexpected(lanes.error());
  for (LeasedLane& leased : *lanes) {
    auto lane = lane_of(std::move(leased), until);
    Busy& busy = busy_[lane->destination];
    ++busy.lanes;
    busy.bytes += lane->bytes;
    held_[lane->lease] = lane;
    deliveries.start(std::move(lane));
  }
  return lanes->size();
}

std::shared_ptr<Lane> Courier::lane_of(LeasedLane leased, Clock::time_point until) const {
  auto lane = std::make_shared<Lane>();
  lane->lane = leased.lane;
  lane->lease = leased.lease;
  lane->destination = std::move(leased.destination);
  lane->ordered = leased.ordering_key.has_value();
  lane->until = until;
  for (StoredMessage& stored : leased.messages) {
    lane->bytes += stored.payload.size();
    const RecordId& from = stored.record ? *stored.record : outbox_->identity();
    // Includes the time, because a database that was restored gives out its numbers once more.
    const std::string label =
        "outbox/" + std::to_string(stored.id) + "/" + std::to_string(stored.enqueued_at);
    lane->messages.push_back({stored.id, std::move(stored.payload), read_headers(stored.headers),
                              derive(from, label), stored.attempts, leased.ordering_key,
                              Time(Duration(stored.enqueued_at))});
  }
  return lane;
}

// Nothing came for a while: from now on whoever enqueues has to notify.
Courier::Result Courier::settle_down(Deliveries& deliveries) {
  const Open open = open_destinations();
  if (!open.all) {
    // Messages for a busy destination are taken when something of it has ended, so nobody has to
    // notify about them; the other destinations are looked at meanwhile.
    look_at_ = Clock::now() + kLookForOpenEvery;
    return get_up();
  }
  if (!idle_) {
    const auto how = outbox_->go_idle();
    if (!how) return std::unexpected(how.error());
    if (*how == LieDown::soon) {
      look_at_ = Clock::now() + kLookForOpenEvery;
      return {};
    }
    idle_ = *how == LieDown::idle;
    // Whoever committed before that notified nobody.
    const auto taken = take(deliveries);
    if (!taken) return std::unexpected(taken.error());
    if (*taken > 0) {
      quiet_looks_ = 0;
      look_at_ = Clock::now() + kLookEvery;
      return get_up();
    }
  }
  std::vector<std::string> names;
  for (const Room& room : open.rooms) names.push_back(room.destination);
  const auto next = outbox_->next_due(names);
  if (!next) return std::unexpected(next.error());
  Duration pause = kLookAnyway;
  if (*next) pause = std::clamp<Duration>(**next, kLookSoonest, kLookAnyway);
  look_at_ = Clock::now() + pause;
  return {};
}

Courier::Result Courier::get_up() {
  if (!idle_) return {};
  idle_ = false;
  return outbox_->get_up();
}

Courier::Result Courier::sleep() {
  auto wake_at = std::min(look_at_, Clock::now() + Clock::duration(kLookAnyway));
  if (!held_.empty()) wake_at = std::min(wake_at, renew_at_);
  const auto pause = std::chrono::ceil<Duration>(wake_at - Clock::now());
  const auto notified = outbox_->wait(wakeup_.descriptor(), std::max(pause, Duration(0)));
  if (!notified) return std::unexpected(notified.error());
  if (!*notified || look_at_ == Clock::time_point::max()) return {};
  // While we look ourselves, nobody has to notify: otherwise every commit of a burst would.
  quiet_looks_ = 0;
  look_at_ = Clock::now();
  return get_up();
}

}  // namespace semel::relay
