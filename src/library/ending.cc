// The second half of a call. The promise is the driver's: nothing is reported as executed unless
// its outcome is durable.
#include <boost/asio/co_spawn.hpp>

#include "base/percent.h"
#include "engine/spawn.h"
#include "library/inside.h"
#include "library/run_here.h"

namespace semel {
using boost::asio::awaitable;

namespace {

constexpr std::string_view kFailureHeader = "Semel-Failure";
constexpr int kFailureStatus = 422;

v1::Ended out_of_hand(std::string why) {
  return {v1::Verdict::unknown, {}, std::move(why)};
}

v1::Ended ended_closed() {
  return out_of_hand("the engine was closed before the outcome could be recorded");
}

v1::Ended to_ended(const Outcome& outcome, const Finished& finished) {
  if (const auto* stale = std::get_if<finish::Stale>(&finished)) {
    if (stale->record && stale->record->state == RecordState::completed) {
      return {v1::Verdict::replayed, stale->record->answer,
              "another attempt, or an operator, has completed it meanwhile"};
    }
    return out_of_hand("the claim has passed to another attempt, and this outcome does not count");
  }
  if (const auto* pending = std::get_if<finish::Pending>(&finished)) {
    return out_of_hand("the outcome is not durable yet, and the engine keeps trying: " +
                       pending->why);
  }
  switch (outcome.kind) {
    case OutcomeKind::final:
      return {v1::Verdict::executed, outcome.answer, ""};
    case OutcomeKind::retry:
      return {v1::Verdict::released, {}, outcome.reason};
    case OutcomeKind::unknown:
      break;
  }
  return out_of_hand(outcome.reason);
}

Answer to_answer(const v1::Failure& failure) {
  return {kFailureStatus,
          {{"Content-Type", "text/plain; charset=utf-8"},
           {std::string(kFailureHeader), base::percent_encoded(failure.code)}},
          failure.what()};
}

std::optional<v1::Failure> to_failure(const Answer& answer) {
  for (const Header& header : answer.headers) {
    if (header.name != kFailureHeader) continue;
    return v1::Failure(base::percent_decoded(header.value).value_or(header.value), answer.body);
  }
  return std::nullopt;
}

std::string reason_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return std::string("the function threw: ") + error.what();
  } catch (...) {
    return "the function threw something that is not a std::exception";
  }
}

v1::detail::Settled to_settled(v1::Begun begun) {
  v1::detail::Settled settled;
  settled.verdict = begun.verdict;
  settled.why = std::move(begun.why);
  settled.attempt = begun.attempt;
  settled.record = std::move(begun.record);
  settled.retry_after = begun.retry_after;
  settled.failure = to_failure(begun.answer);
  settled.answer = std::move(begun.answer);
  if (settled.failure) settled.why = settled.failure->what();
  return settled;
}

}  // namespace

awaitable<v1::Ended> v1::Inside::ended(EngineClaim claim, semel::Outcome outcome) {
  if (outcome.kind == OutcomeKind::final && outcome.answer.status == 0) outcome.answer.status = 200;
  const Finished finished = co_await engine_->finish(std::move(claim), outcome);
  Ended end = to_ended(outcome, finished);
  if (end.answer.body_note != BodyNote::spilled) co_return end;
  const auto* stale = std::get_if<finish::Stale>(&finished);
  if (stale != nullptr) co_await gather_body(*stale->record, end.answer);
  if (end.answer.body_note != BodyNote::spilled) co_return end;
  co_return out_of_hand(end.why + ", and a part of its answer cannot be read; call again");
}

v1::Ended v1::Inside::end(Execution execution, const semel::Outcome& outcome) {
  const Stay stay(*this);
  if (!stay) return ended_closed();
  return library::run_here(ended(std::move(execution.held_->claim), outcome));
}

void v1::Inside::end(Execution execution, const semel::Outcome& outcome,
                     std::function<void(Ended)> done) {
  const auto stay = std::make_shared<Stay>(*this);
  if (!*stay) return done(ended_closed());
  auto run = [](Inside& inside, Execution held, semel::Outcome of, std::shared_ptr<Stay>,
                std::function<void(Ended)> tell) -> awaitable<void> {
    tell(co_await inside.ended(std::move(held.held_->claim), std::move(of)));
  };
  boost::asio::co_spawn(*context_, run(*this, std::move(execution), outcome, stay, std::move(done)),
                        engine::OrReport{"ending a call"});
}

v1::detail::Settled v1::Inside::execute(const Operation& operation, Execution execution,
                                        const detail::Work& work, std::exception_ptr& failed) {
  detail::Settled settled;
  settled.attempt = execution.attempt;
  settled.record = execution.record.hex();
  Outcome outcome;
  bool returned = false;
  try {
    outcome = {OutcomeKind::final, work(execution, returned)};
  } catch (const Failure& failure) {
    settled.failure = failure;
    outcome = {OutcomeKind::final, to_answer(failure)};
  } catch (const Retry& retry) {
    outcome = {OutcomeKind::retry, {}, retry.what()};
  } catch (...) {
    failed = std::current_exception();
    const bool undone = operation.throws == Operation::Throws::undone && !returned;
    outcome = {undone ? OutcomeKind::retry : OutcomeKind::unknown, {}, reason_of(failed)};
  }
  Ended end = library::run_here(ended(std::move(execution.held_->claim), std::move(outcome)));
  settled.verdict = end.verdict;
  if (end.verdict == Verdict::replayed) settled.failure = to_failure(end.answer);
  if (end.verdict == Verdict::unknown) settled.failure.reset();
  const bool failed_now = end.verdict == Verdict::executed && settled.failure;
  settled.why = failed_now ? settled.failure->what() : std::move(end.why);
  settled.answer = std::move(end.answer);
  return settled;
}

v1::detail::Settled v1::Inside::run(const Operation& operation, Call call,
                                    const detail::Work& work) {
  const auto began = std::chrono::steady_clock::now();
  const library::Asked asked = ask(operation, std::move(call));
  const Stay stay(*this);
  std::exception_ptr failed;
  Begun begun;
  if (stay) {
    begun = begin_here(asked);
  } else {
    begun.why = "the engine is closed";
  }
  const detail::Settled settled =
      begun.execution ? execute(operation, *std::move(begun.execution), work, failed)
                      : to_settled(std::move(begun));
  if (options_.event) {
    options_.event({operation.name, settled.record, settled.verdict, settled.attempt,
                    std::chrono::duration_cast<std::chrono::microseconds>(
                        std::chrono::steady_clock::now() - began)});
  }
  if (failed) std::rethrow_exception(failed);
  return settled;
}

}  // namespace semel
