#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "semel/time.h"

// The outbox as an operator looks at it. Blocks. Errors are sentences for the operator.
namespace semel::postgres {

// The messages for one destination under one ordering key, or all of those without one.
struct OutboxLane {
  std::string destination;
  std::optional<std::string> ordering_key;
  std::int64_t waiting = 0;    // those that are blocked, too
  bool is_blocked = false;     // by a dead letter: nothing is delivered
  std::int64_t attempts = 0;   // of the message that was tried most often
  std::optional<Time> due_at;  // nullopt: blocked
  std::string last_error;
};

struct OutboxDeadLetter {
  std::int64_t id = 0;
  std::string destination;
  std::optional<std::string> ordering_key;
  std::int64_t attempts = 0;
  std::string last_error;
  Time enqueued_at{};
  Time died_at{};
};

struct OutboxSummary {
  std::vector<OutboxLane> lanes;       // those that are due first come first
  std::vector<OutboxDeadLetter> dead;  // the latest first
};

// Lists up to `rows_max` lanes and as many dead letters. Looks at the oldest 10,000 messages at
// most, so that the cost has a bound.
std::expected<OutboxSummary, std::string> read_outbox(const std::string& url,
                                                      const std::string& schema,
                                                      std::size_t rows_max);

}  // namespace semel::postgres
