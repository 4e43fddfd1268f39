// The first half of a call: decides whether it is executed. The promise is the driver's: whoever is
// told to execute holds a durable claim that nobody else holds.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "base/overloaded.h"
#include "engine/spawn.h"
#include "library/inside.h"
#include "library/run_here.h"

namespace semel {
using boost::asio::awaitable;

namespace {

// How soon a wait notices that the engine closes.
constexpr Duration kWaitSlice = std::chrono::milliseconds(100);
// How long one wait on the store lasts for a call that another process executes.
constexpr Duration kElsewhereSlice = std::chrono::milliseconds(500);
// How soon a waiting call looks at the record again, whatever it is told.
constexpr Duration kLookAgainAfter = std::chrono::seconds(1);
constexpr Duration kBusyRetry = std::chrono::seconds(1);

v1::Begun refused(v1::Verdict verdict, std::string why, const Record* record = nullptr) {
  v1::Begun begun;
  begun.verdict = verdict;
  begun.why = std::move(why);
  if (record != nullptr) {
    begun.attempt = record->attempt;
    begun.record = record->id.hex();
  }
  const bool passes = verdict == v1::Verdict::busy || verdict == v1::Verdict::unavailable;
  if (passes) begun.retry_after = kBusyRetry;
  return begun;
}

v1::Begun unavailable(const std::string& why) {
  return refused(v1::Verdict::unavailable, "the store cannot be used: " + why);
}

v1::Begun begun_closed() {
  return refused(v1::Verdict::unavailable, "the engine is closed");
}

v1::Begun unknown(const Record& record) {
  return refused(v1::Verdict::unknown,
                 fmt::format("an attempt with this key has no known outcome{}{}; find out what "
                             "happened, then resolve the record {}",
                             record.reason.empty() ? "" : ": ", record.reason, record.id.hex()),
                 &record);
}

v1::Begun replayed(const Record& record) {
  v1::Begun begun;
  begun.verdict = v1::Verdict::replayed;
  begun.answer = record.answer;
  begun.attempt = record.attempt;
  begun.record = record.id.hex();
  if (record.answer.body_note == BodyNote::omitted) {
    begun.why = "the answer was too large to be kept";
  }
  return begun;
}

}  // namespace

library::Asked v1::Inside::ask(const Operation& operation, Call call) const {
  return library::make_asked(options_.name_space, hides_keys_, operation, std::move(call));
}

std::optional<v1::Begun> v1::Inside::recorded(const library::Asked& asked) const {
  const RecordPtr record =
      engine_->recorded(asked.id, asked.recipe, asked.fingerprint, asked.operation);
  if (!record || record->answer.body_note == BodyNote::spilled) return std::nullopt;
  return replayed(*record);
}

awaitable<bool> v1::Inside::wait_for(RecordPtr busy, SteadyTime until) {
  const SteadyTime look_again = after(machine_clock_.steady(), kLookAgainAfter);
  for (;;) {
    const SteadyTime now = machine_clock_.steady();
    if (now >= until || closing_) co_return false;
    if (now >= look_again) co_return true;
    const Duration slice = std::min<Duration>(kWaitSlice, until - now);
    const Waited waited = co_await engine_->wait(busy->id, busy->token, slice);
    if (std::holds_alternative<waited::TimedOut>(waited)) continue;
    if (!std::holds_alternative<waited::LookAgain>(waited)) co_return true;
    // It runs in another process. One whose creator has not committed has no token to wait for.
    const Duration elsewhere = std::min<Duration>(kElsewhereSlice, until - now);
    const bool told =
        busy->token != Token{} && co_await store_->ended(busy->id, busy->token, elsewhere);
    if (!told) co_await machine_clock_.sleep(slice);
    co_return true;
  }
}

awaitable<v1::Begun> v1::Inside::admitted(library::Asked asked) {
  const SteadyTime until = after(machine_clock_.steady(), asked.wait);
  for (;;) {
    Admission admission;
    try {
      admission = co_await engine_->admit(asked.call());
    } catch (const std::runtime_error& error) {  // of the fingerprint; nothing was claimed
      co_return unavailable(error.what());
    }
    const auto* busy = std::get_if<admission::Busy>(&admission);
    if (busy != nullptr && co_await wait_for(busy->record, until)) continue;
    co_return co_await to_begun(std::move(admission), asked);
  }
}

awaitable<void> v1::Inside::gather_body(const Record& record, Answer& answer) {
  std::string body;
  body.reserve(answer.spilled_bytes);
  for (std::uint32_t index = 0; body.size() < answer.spilled_bytes; ++index) {
    const auto chunk = co_await store_->get_chunk(record.id, record.token, index);
    if (!chunk || !*chunk || (*chunk)->empty()) co_return;
    body += **chunk;
  }
  answer.body = std::move(body);
  answer.body_note = BodyNote::kept;
}

awaitable<v1::Begun> v1::Inside::to_replayed(RecordPtr record) {
  Begun begun = replayed(*record);
  if (begun.answer.body_note != BodyNote::spilled) co_return begun;
  co_await gather_body(*record, begun.answer);
  if (begun.answer.body_note == BodyNote::spilled) {
    co_return unavailable("a part of the answer cannot be read");
  }
  co_return begun;
}

awaitable<v1::Begun> v1::Inside::to_begun(Admission admission, const library::Asked& asked) {
  if (auto* replay = std::get_if<admission::Replay>(&admission)) {
    co_return co_await to_replayed(std::move(replay->record));
  }
  const auto busy = [](const Record* record) {
    return refused(Verdict::busy, "the operation with this key is being executed", record);
  };
  co_return std::visit(
      base::Overloaded{
          [&](admission::Execute& execute) {
            Begun begun;
            begun.verdict = Verdict::executed;
            begun.attempt = execute.claim.record->attempt;
            begun.record = execute.claim.record->id.hex();
            begun.execution = Execution(
                std::make_unique<Execution::Held>(shared_from_this(), std::move(execute.claim)));
            return begun;
          },
          [](admission::Replay& replay) { return replayed(*replay.record); },
          [](admission::Mismatch& mismatch) {
            return refused(Verdict::mismatch, "this key was used for another call",
                           mismatch.record.get());
          },
          [&](admission::Busy& found) { return busy(found.record.get()); },
          [&](admission::Queued& found) { return busy(found.record.get()); },
          [](admission::OutcomeUnknown& found) { return unknown(*found.record); },
          [](admission::Expired&) {
            return refused(Verdict::expired,
                           "the key was used too long ago for its answer to be given again");
          },
          [&](admission::VersionChanged& changed) {
            return refused(
                Verdict::expired,
                fmt::format("the answer under this key has version '{}', not '{}'",
                            changed.record->response_version, asked.operation.response_version),
                changed.record.get());
          },
          [](StoreUnavailable& found) { return unavailable(found.why); },
          [](admission::NoRoom&) { return unavailable("there is no room"); },
          [](admission::TokenUsed& used) { return unknown(*used.record); },
      },
      admission);
}

v1::Begun v1::Inside::begin_here(const library::Asked& asked) {
  if (auto known = recorded(asked)) return *std::move(known);
  return library::run_here(admitted(asked));
}

v1::Begun v1::Inside::begin(const Operation& operation, Call call) {
  const library::Asked asked = ask(operation, std::move(call));
  const Stay stay(*this);
  return stay ? begin_here(asked) : begun_closed();
}

void v1::Inside::begin(const Operation& operation, Call call, std::function<void(Begun)> done) {
  library::Asked asked = ask(operation, std::move(call));
  const auto stay = std::make_shared<Stay>(*this);
  if (!*stay) return done(begun_closed());
  auto run = [](Inside& inside, library::Asked asked_in, std::shared_ptr<Stay>,
                std::function<void(Begun)> tell) -> awaitable<void> {
    tell(co_await inside.admitted(std::move(asked_in)));
  };
  boost::asio::co_spawn(*context_, run(*this, std::move(asked), stay, std::move(done)),
                        engine::OrReport{"beginning a call"});
}

}  // namespace semel
