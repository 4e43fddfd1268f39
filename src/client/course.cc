#include "client/course.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"

namespace semel::client {
namespace {

using End = Sent::End;

constexpr int kTokensPerRetry = 5;
constexpr int kTokensAfterTimeout = 10;
constexpr int kTokensBackAtOnce = 1;  // for a success without a retry
constexpr int kFloorJitterPart = 10;  // a tenth of Retry-After

std::string seconds(Duration duration) {
  const auto tenths = (duration.count() + 99) / 100;
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + " s";
}

std::string name_of(const Answer& answer, const Judgement& judged) {
  std::string name = std::to_string(answer.status);
  return judged.code.empty() ? name : name + " " + judged.code;
}

}  // namespace

Course::Course(const RetryRules& rules, RetryBudget& budget, Protection request, SteadyPoint begun)
    : rules_(rules), budget_(budget), request_(request), deadline_(begun + rules.deadline) {}

SteadyPoint Course::try_until(SteadyPoint now) const {
  return std::min(deadline_, now + rules_.try_timeout);
}

Duration Course::backoff_limit(bool throttled) const {
  const Duration min = throttled ? rules_.backoff_min_throttled : rules_.backoff_min;
  return base::backoff_after(static_cast<std::uint64_t>(std::max(failures_, 1)), min,
                             rules_.backoff_max);
}

Course::Over Course::gives_up(std::string why) const {
  Over over;
  over.why = std::move(why);
  over.same_key_may_retry = may_repeat();
  over.new_key_safe = !in_the_dark_;
  return over;
}

Course::Step Course::after(const Tried& tried, const Moment& now) {
  ++tries_;
  longest_try_ = std::max(longest_try_, tried.took);
  if (tried.result) return after_answer(*tried.result, now);
  in_the_dark_ |= tried.sent;
  last_ = tried.result.error().text;
  return after_failure(tried.result.error(), tried.was_idle, now);
}

Course::Step Course::after_answer(const Answer& answer, const Moment& now) {
  const Judgement judged = judge(answer, request_, now.wall);
  if (judged.key_expires) key_expires_ = judged.key_expires;
  const std::string& name = last_ = name_of(answer, judged);
  if (judged.next == Next::again) {
    if (!judged.in_progress) ++failures_;
    in_the_dark_ |= !judged.new_key_safe;
    return retry(name, kTokensPerRetry, judged.retry_after, backoff_limit(judged.throttled), now);
  }
  Over over;
  over.new_key_safe = judged.new_key_safe && !in_the_dark_;
  if (judged.next == Next::unknown) {
    over.end = End::unknown;
    over.same_key_may_retry = request_.key && !judged.degraded;
    over.new_key_safe = false;
    over.why = name + ": it may have happened; " +
               (over.same_key_may_retry ? "the same key may be tried later, a new one must not"
                                        : "no key protects it from happening again");
    if (judged.retry_after) over.retry_at = now.wall + *judged.retry_after;
    return over;
  }
  if (answer.status < 500) budget_.give_back(taken_ > 0 ? taken_ : kTokensBackAtOnce);
  over.end = judged.replayed ? End::replayed
                             : (judged.next == Next::refused ? End::refused : End::answered);
  // The same request again is harmless wherever it is protected; whether it makes sense, the status
  // says.
  over.same_key_may_retry = may_repeat() && over.end != End::refused && !judged.degraded;
  over.why = name + (judged.replayed ? ", replayed" : "");
  return over;
}

Course::Step Course::after_failure(const Failure& failure, bool was_idle, const Moment& now) {
  if (!may_repeat() && in_the_dark_) {
    Over over = gives_up(failure.text + ": it may have happened, and it had no key");
    over.end = End::unknown;
    return over;
  }
  switch (failure.kind) {
    case Failure::Kind::stopped:
    case Failure::Kind::misconfigured:
    case Failure::Kind::too_large:
      return gives_up(failure.text);
    case Failure::Kind::timeout:
      ++failures_;
      return retry(failure.text, kTokensAfterTimeout, std::nullopt, backoff_limit(false), now);
    case Failure::Kind::unreachable:
    case Failure::Kind::broken:
      break;
  }
  if (was_idle && !std::exchange(idle_excused_, true)) {  // closed by the server, most likely
    return retry(failure.text, kTokensPerRetry, std::nullopt, Duration(0), now);
  }
  ++failures_;
  return retry(failure.text, kTokensPerRetry, std::nullopt, backoff_limit(false), now);
}

Course::Step Course::retry(std::string why, int cost, std::optional<Duration> floor,
                           Duration backoff_limit, const Moment& now) {
  if (!may_repeat()) return gives_up(why + "; without a key it is tried once");
  if (tries_ >= rules_.tries_max) {
    return gives_up(why + ", after " + std::to_string(tries_) + " tries");
  }
  const auto left = std::chrono::floor<Duration>(deadline_ - now.steady);
  Duration pause = base::drawn_up_to(backoff_limit, now.random);
  if (floor) {
    const Duration jitter = base::drawn_up_to(*floor / kFloorJitterPart, now.random >> 32);
    Over over = gives_up(why + "; the server asks to come again in " + seconds(*floor));
    over.retry_at = now.wall + *floor;
    if (*floor > rules_.retry_after_max) {
      over.why += ", which is more than " + seconds(rules_.retry_after_max);
      return over;
    }
    if (*floor >= left) {
      over.why += ", which is after the deadline";
      return over;
    }
    pause = std::max(pause, *floor + jitter);
  }
  if (pause + longest_try_ / 10 >= left) {
    return gives_up(why + "; the deadline of " + seconds(rules_.deadline) +
                    " leaves no time for another try");
  }
  if (key_expires_ && now.wall + pause >= *key_expires_) {
    Over over = gives_up(why + "; the server forgets the key before another try");
    over.same_key_may_retry = false;
    return over;
  }
  if (!budget_.take(cost)) {
    return gives_up(why + "; the budget for retries in this process is used up");
  }
  taken_ = cost;
  return Again{pause};
}

}  // namespace semel::client
