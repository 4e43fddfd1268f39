#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "client/judge.h"
#include "client/wire/exchange.h"
#include "semel/client.h"

// The course of one call: how often, when and for how long. Without I/O; time and randomness are
// parameters.
namespace semel::client {

struct Moment {
  SteadyPoint steady;
  Time wall;
  std::uint64_t random = 0;
};

class Course {
 public:
  struct Again {
    Duration pause{0};
  };
  struct Over {
    Sent::End end = Sent::End::gave_up;
    std::string why;
    bool same_key_may_retry = false;
    bool new_key_safe = false;
    std::optional<Time> retry_at;
  };
  using Step = std::variant<Again, Over>;

  Course(const RetryRules& rules, RetryBudget& budget, Protection request, SteadyPoint begun);

  // Decides what follows a try.
  Step after(const Tried& tried, const Moment& now);
  // The limits of the next try.
  SteadyPoint try_until(SteadyPoint now) const;
  SteadyPoint deadline() const { return deadline_; }
  int tries() const { return tries_; }
  // The result of the last try, in a few words: "409 in-progress".
  const std::string& last() const { return last_; }
  // The call was stopped between two tries.
  Over stopped() const { return gives_up("stopped"); }
  std::optional<Time> key_expires() const { return key_expires_; }

 private:
  Step after_answer(const Answer& answer, const Moment& now);
  Step after_failure(const Failure& failure, bool was_idle, const Moment& now);
  Over gives_up(std::string why) const;
  // A retry after `floor` and backoff, if the rules allow one.
  Step retry(std::string why, int cost, std::optional<Duration> floor, Duration backoff_limit,
             const Moment& now);
  Duration backoff_limit(bool throttled) const;
  bool may_repeat() const { return request_.key || is_idempotent(request_.method); }

  const RetryRules rules_;
  RetryBudget& budget_;
  const Protection request_;
  const SteadyPoint deadline_;
  int tries_ = 0;
  std::string last_;
  int failures_ = 0;          // tries that count for the backoff
  int taken_ = 0;             // tokens, for the last retry
  bool in_the_dark_ = false;  // a request was sent and had no answer
  bool idle_excused_ = false;
  Duration longest_try_{0};
  std::optional<Time> key_expires_;
};

}  // namespace semel::client
