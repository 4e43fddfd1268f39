#pragma once

#include <string>

#include "semel/outcome.h"
#include "semel/time.h"

// The rules under which the engine executes an operation:
//
//   const Operation charges{.unknown = UnknownPolicy::hold, .ttl = std::chrono::days(7)};
//   call.operation = charges;
//   Admission admission = co_await engine.admit(std::move(call));
namespace semel {

enum class OnRetry { keep, forget };
enum class OnVersionChange { gone, fresh };

// An operator's decision about queued work, or about work that is no longer tried. retry: it is due
// now, once more. drop: it is released, so that only a new request with its key executes it.
enum class WorkDecision { retry, drop };

// The rules of one operation. They decide what happens to its records. semel::pg::Operation (pg.h)
// has those of them that PostgreSQL keeps, and the operation's name.
struct Operation {
  UnknownPolicy unknown = UnknownPolicy::hold;
  OnRetry on_retry = OnRetry::keep;
  Duration lease = std::chrono::seconds(30);
  Duration max_execution = std::chrono::minutes(15);  // how long a lease is renewed
  Duration ttl = std::chrono::hours(24);
  Duration tombstone{0};
  Duration hold_for = Duration::max();  // max: forever
  bool ttl_from_creation = false;
  std::string response_version = "1";
  OnVersionChange on_version_change = OnVersionChange::gone;
};

// How long a record is kept that was released by nothing but 401, 403 and 407 answers.
inline constexpr Duration kAuthFailureTtl = std::chrono::seconds(60);

}  // namespace semel
