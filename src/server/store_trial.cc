#include "server/store_trial.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "base/overloaded.h"
#include "telemetry/log.h"

namespace semel::server {
namespace {

using boost::asio::awaitable;

constexpr auto kTryEvery = std::chrono::seconds(2);
constexpr auto kWaitMax = std::chrono::seconds(2);
constexpr auto kLookEvery = std::chrono::milliseconds(5);
// When a record that could not be removed again is removed by the sweeper.
constexpr auto kLeftFor = std::chrono::minutes(1);

// Nobody asks for this record: its id is random, and it stands for no key.
std::shared_ptr<Record> trial_record(const RecordId& id, Time now) {
  auto record = std::make_shared<Record>();
  record->id = id;
  record->state = RecordState::tombstone;
  record->created_at = record->updated_at = now;
  record->tombstone_until = after(now, kLeftFor);
  record->operation = "trial of the store";
  return record;
}

std::optional<std::string> trouble_of(const SwapResult& result) {
  using Trouble = std::optional<std::string>;
  return std::visit(
      base::Overloaded{[](const swap::Applied&) -> Trouble { return std::nullopt; },
                       [](const StoreUnavailable& away) -> Trouble { return away.why; },
                       [](const swap::Unknown& unknown) -> Trouble { return unknown.why; },
                       [](const auto&) -> Trouble { return "the store refused a new record"; }},
      result);
}

}  // namespace

StoreTrial::StoreTrial(Store& store, Clock& clock, TokenSource& tokens)
    : store_(store), clock_(clock) {
  for (auto at = id_.bytes.begin(); at != id_.bytes.end();) {
    const Token random = tokens.next();
    at = std::copy(random.bytes.begin(), random.bytes.end(), at);
  }
}

awaitable<std::optional<std::string>> StoreTrial::try_once() {
  SwapResult made = co_await store_.swap(id_, 0, trial_record(id_, clock_.now()));
  // An earlier try has written it after all.
  if (const auto* found = std::get_if<swap::Conflict>(&made); found && found->current) {
    const Version version = found->current->version;
    made = co_await store_.swap(id_, version, trial_record(id_, clock_.now()));
  }
  if (auto trouble = trouble_of(made)) co_return trouble;
  const SwapResult removed =
      co_await store_.swap(id_, std::get<swap::Applied>(made).version, nullptr);
  co_return trouble_of(removed);
}

awaitable<void> StoreTrial::run() {
  bool has_failed = false;
  for (;;) {
    trouble_ = co_await try_once();
    has_tried_ = true;
    if (!trouble_) break;
    has_failed = true;
    telemetry::log_repeating(config::LogLevel::warn, "accepts no new keys", "trial",
                             {{"why", *trouble_}});
    co_await clock_.sleep(kTryEvery);
  }
  if (has_failed) telemetry::log_event(config::LogLevel::info, "accepts new keys", {});
}

awaitable<void> StoreTrial::wait_for_first() {
  const SteadyTime give_up = after(clock_.steady(), kWaitMax);
  while (!has_tried_ && clock_.steady() < give_up) co_await clock_.sleep(kLookEvery);
}

}  // namespace semel::server
