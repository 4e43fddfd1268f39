#include "execution/prober.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <charconv>

#include "config/probe_url.h"
#include "engine/spawn.h"
#include "execution/forward_key.h"
#include "execution/headers.h"
#include "execution/operation_name.h"
#include "execution/redelivery.h"
#include "semel/derive.h"
#include "semel/driver/scope.h"
#include "semel/key.h"

namespace semel::execution {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t kAskedAtOnceMax = 32;
constexpr std::size_t kEntriesMax = 10'000;  // further unknown records are probed only on request
constexpr auto kLookEvery = std::chrono::milliseconds(250);
// How often to look for what others left behind on a shared store. Rare: it walks over all records.
constexpr Duration kLookAgainEvery = std::chrono::minutes(10);
constexpr std::size_t kScanPage = 256;

bool probes(const config::RouteConfig& route) {
  return route.operation.unknown == UnknownPolicy::probe;
}

// The route's executor never got an attempt of a client that executes by itself, and would say that
// it has not run.
bool reached_executor(const Record& record) {
  return !is_held_by_client(record.owner);
}

std::optional<int> status_in(std::string_view text) {
  int status = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), status);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return status >= 200 && status <= 599 ? std::optional(status) : std::nullopt;
}

// Returns the outcome that the executor reported; nullopt: nothing that settles it.
std::optional<Outcome> outcome_said(const config::RouteConfig& route, http::Client::Answer& said) {
  const std::string_view word = said.header("Idempotency-Outcome").value_or("");
  if (word == "retry") return Outcome{OutcomeKind::retry, {}, "probed: it has not run"};
  const auto status = status_in(said.header("Semel-Status").value_or(""));
  if (word != "final" || !status) return std::nullopt;
  // Fields that concerned the probe's own connection would break the framing of every replay.
  std::vector<http::Field> fields;
  for (const Header& header : said.headers) fields.push_back({header.name, header.value});
  const HopByHop hop_by_hop(fields);
  std::vector<Header> headers;
  for (const Header& header : said.headers) {
    const bool is_answers = !hop_by_hop.contains(header.name) &&
                            !is_ours(header.name, route, true) &&
                            !http::iequals(header.name, "Semel-Status");
    if (is_answers) headers.push_back(header);
  }
  Outcome outcome{OutcomeKind::final, {}, "probed: status " + std::to_string(*status)};
  outcome.answer.status = *status;
  outcome.answer.headers = kept_headers(headers, route);
  outcome.answer.body = std::move(said.body);
  return outcome;
}

}  // namespace

bool Prober::begin(const RecordId& id, Time now, Pace pace) {
  const std::lock_guard lock(mutex_);
  if (asking_ >= kAskedAtOnceMax) return false;
  const auto found = entries_.find(id);
  if (found == entries_.end() && entries_.size() >= kEntriesMax) return false;
  Entry& entry = entries_.try_emplace(id, Entry{now}).first->second;
  if (entry.asking) return false;
  if (pace == Pace::kept && entry.asked && now < entry.next) return false;
  entry.asking = true;
  ++asking_;
  return true;
}

void Prober::end(const RecordId& id, bool settled, Time now) {
  const std::lock_guard lock(mutex_);
  --asking_;
  if (settled) {
    entries_.erase(id);
    return;
  }
  Entry& entry = entries_[id];
  entry.asking = false;
  entry.asked = true;
  entry.next = after(now, entry.pauses.next());
}

Duration Prober::next_ask_in(const RecordId& id, Time now) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry == entries_.end() || entry->second.next <= now) return kPauseMin;
  return entry->second.next - now;
}

void Prober::note(const RecordId& id, Time next) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() < kEntriesMax) entries_.try_emplace(id, Entry{next});
}

void Prober::became_unknown(const Record& record, Time now) {
  if (reached_executor(record)) note(record.id, after(now, kPauseMin));
}

void Prober::forget(const RecordId& id) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry != entries_.end() && !entry->second.asking) entries_.erase(entry);
}

void Prober::forget_all() {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const auto& entry) { return !entry.second.asking; });
}

std::vector<RecordId> Prober::due(Time now) {
  const std::lock_guard lock(mutex_);
  std::vector<RecordId> ids;
  for (const auto& [id, entry] : entries_) {
    if (ids.size() >= kAskedAtOnceMax) break;
    if (!entry.asking && entry.next <= now) ids.push_back(id);
  }
  return ids;
}

awaitable<bool> Prober::ask(runtime::Worker& worker, runtime::Route route, RecordPtr record,
                            std::string key) {
  if (!reached_executor(*record)) co_return false;
  if (!begin(record->id, services_.clock.now(), Pace::kept)) co_return false;
  co_return co_await ask_begun(worker, std::move(route), std::move(record), std::move(key));
}

awaitable<std::optional<bool>> Prober::ask_at_once(runtime::Worker& worker, runtime::Route route,
                                                   RecordPtr record, std::string key) {
  if (!reached_executor(*record)) co_return std::nullopt;
  if (!begin(record->id, services_.clock.now(), Pace::ignored)) co_return std::nullopt;
  co_return co_await ask_begun(worker, std::move(route), std::move(record), std::move(key));
}

awaitable<bool> Prober::ask_begun(runtime::Worker& worker, runtime::Route route, RecordPtr record,
                                  std::string key) {
  const RecordId id = record->id;
  bool settled = false;
  try {
    settled = co_await settle(worker, std::move(route), std::move(record), std::move(key));
  } catch (const std::exception& error) {
    telemetry::log_event(config::LogLevel::error, "probe failed", {{"why", error.what()}});
  }
  end(id, settled, services_.clock.now());
  co_return settled;
}

awaitable<bool> Prober::settle(runtime::Worker& worker, runtime::Route route, RecordPtr record,
                               std::string key) {
  const config::RouteConfig& config = route.config();
  const std::string attempt = std::to_string(record->attempt);
  if (config.forward_key == config::ForwardKey::derived) key = derive(record->id, kForwardLabel);
  http::Client::Request request;
  request.target = config::fill_probe_target(config.probe.url.target,
                                             {key, record->id.hex(), attempt, record->token.hex()});
  request.headers = {{"Semel-Record", record->id.hex()},
                     {"Semel-Attempt", attempt},
                     {"Semel-Token", record->token.hex()}};
  // Sends the key as the executor knows it, if it does.
  if (config.forward_key != config::ForwardKey::none) {
    request.headers.push_back({"Idempotency-Key", quoted_key(key)});
  }
  request.answer_bytes_max = config.max_stored_body;
  http::Client client = worker.client_to(config.probe.url);
  auto said = co_await client.ask(std::move(request), config.probe.timeout);
  const std::string short_id = record->id.hex().substr(0, 16);
  if (!said) {
    telemetry::log_event(config::LogLevel::warn, "probe failed",
                         {{"record", short_id}, {"why", said.error()}});
    co_return false;
  }
  std::optional<Outcome> outcome = outcome_said(config, *said);
  if (!outcome) {
    telemetry::log_event(config::LogLevel::info, "probe settled nothing",
                         {{"record", short_id}, {"status", std::to_string(said->status)}});
    co_return false;
  }
  // Treated like a late answer: recorded only if the record still belongs to this attempt.
  plan_redelivery(config, *record, *outcome, services_.clock.now());
  EngineClaim claim{std::move(record), config.operation};
  const Finished finished = co_await services_.engine.finish(std::move(claim), *std::move(outcome));
  co_return !std::holds_alternative<finish::Pending>(finished);
}

awaitable<void> Prober::ask_in_background(runtime::Worker& worker, RecordId id) {
  auto found = co_await services_.store.read(id);
  if (!found) co_return;
  const runtime::ActiveConfigPtr settings = worker.settings();
  const auto route = *found ? find_probed_route(settings->routes, **found) : std::nullopt;
  if (!route || (*found)->state != RecordState::unknown || !reached_executor(**found)) {
    forget(id);
    co_return;
  }
  std::string key = (*found)->key;
  const Scope scope{settings->config.name_space, (*found)->tenant, (*found)->operation};
  if (make_id(scope, key) != id) {
    forget(id);  // it keeps a digest: only a request with the key can ask about it
    co_return;
  }
  co_await ask(worker, {settings, *route}, *std::move(found), std::move(key));
}

// Notes records that became unknown before this process began. False: the store could not be read.
awaitable<bool> Prober::note_stored(runtime::Worker& worker) {
  std::optional<RecordId> after;
  do {
    auto page = co_await services_.store.scan(after, kScanPage);
    if (!page) co_return false;
    for (const RecordPtr& record : page->records) {
      if (record->state == RecordState::unknown &&
          find_probed_route(worker.settings()->routes, *record)) {
        note(record->id, services_.clock.now());
      }
    }
    after = page->next;
  } while (after);
  co_return true;
}

// Returns whether the store has more unknown records than this process asks about: another process
// may have been killed, and nobody asks about its records now.
bool Prober::may_have_missed() {
  const std::uint64_t stored = services_.store.stats().unknown_records;
  const std::lock_guard lock(mutex_);
  return stored > entries_.size() && entries_.size() < kEntriesMax;
}

awaitable<void> Prober::run(runtime::Worker& worker) {
  bool noted = false;
  Time look_again_at{};
  for (;;) {
    co_await services_.clock.sleep(kLookEvery);
    if (services_.draining) continue;
    if (!std::ranges::any_of(worker.settings()->routes, probes)) {
      forget_all();
      continue;
    }
    const Time now = services_.clock.now();
    if (noted && is_shared_ && now >= look_again_at && may_have_missed()) noted = false;
    if (!noted) {
      noted = co_await note_stored(worker);
      look_again_at = after(now, kLookAgainEvery);
    }
    for (const RecordId& id : due(services_.clock.now())) {
      asio::co_spawn(worker.context(), ask_in_background(worker, id),
                     engine::OrReport{"probing a key"});
    }
  }
}

}  // namespace semel::execution
