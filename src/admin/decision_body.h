#pragma once

#include <boost/json/value.hpp>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "admin/key_search.h"
#include "semel/driver/engine.h"

namespace semel::admin {

// An operator's decision: the outcome of an unknown record; to forget a recorded answer or to keep
// it for longer; to retry or drop queued work.
enum class Decided { completed, released, forgotten, extended, retried, dropped };
// nullopt: no such verb.
std::optional<Decided> parse_verb(std::string_view verb);
std::string_view verb_of(Decided decided);
// Whether it is a decision about queued work, below /api/queue.
constexpr bool is_about_work(Decided decided) {
  return decided == Decided::retried || decided == Decided::dropped;
}

// An operator's decision about one record, or about all that match.
//
//   {"reason": "checked the ledger", "force": false,
//    "answer": {"status": 201, "headers": {"Content-Type": "text/plain"}, "body": "…"},
//    "where": {"state": "unknown", "operation": "charges", "older": "1h"},
//    "limit": 100, "cursor": "…", "dry_run": false}
//
// `answer` belongs to resolve and is required there; `body_base64` may replace `body`. `ttl`
// belongs to extend and is required there. `force` is for requests that may still run, and so only
// for resolve and release. `where`, `limit`, `cursor` and `dry_run` belong to decisions about many
// records, and `where` may not be empty; `attempt`, the one that the operator saw, belongs to
// decisions about one. Decisions about work have `operation` and `state` (queued
// or dead) there.
struct DecisionBody {
  Resolution resolution;
  Search which;
  bool dry_run = false;
  std::optional<std::uint32_t> attempt =
      std::nullopt;  // if set, the only one that is decided about
};

inline constexpr std::size_t kDecisionsMax = 1000;  // per request

// The error is a sentence for the operator. Unknown members are refused.
std::expected<DecisionBody, std::string> parse_decision(const std::string& body, Decided decided,
                                                        bool many);

}  // namespace semel::admin
