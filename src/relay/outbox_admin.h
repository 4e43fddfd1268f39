#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "postgres/blocking.h"

// Shows the outbox to an operator and changes it. Blocks. Errors are sentences for the operator.
namespace semel::relay {

struct OutboxRow {
  std::int64_t id = 0;
  std::string state;  // waiting, leased, blocked, dead
  std::string destination;
  std::optional<std::string> ordering_key;
  std::int64_t attempts = 0;
  std::string last_error;
  Duration age{0};                 // since it was enqueued
  std::optional<Duration> due_in;  // until its lane is due; none if it is dead or blocked
  std::int64_t payload_bytes = 0;
};

struct OutboxFilter {
  bool dead_only = false;  // only dead and blocked ones
  std::optional<std::string> destination;
};

class OutboxAdmin {
 public:
  static std::expected<OutboxAdmin, std::string> open(const std::string& url,
                                                      const std::string& schema);

  // Lists messages by number, from the one after `after` on.
  std::expected<std::vector<OutboxRow>, std::string> list(const OutboxFilter& filter,
                                                          std::int64_t after, std::size_t rows_max);
  // Both return the messages that they found.
  std::expected<std::vector<std::int64_t>, std::string> retry(const std::vector<std::int64_t>& ids);
  std::expected<std::vector<std::int64_t>, std::string> drop(const std::vector<std::int64_t>& ids);

 private:
  OutboxAdmin(postgres::PgBlocking database, std::string schema)
      : database_(std::move(database)), schema_(std::move(schema)) {}
  std::expected<std::vector<std::int64_t>, std::string> call(const std::string& function,
                                                             const std::vector<std::int64_t>& ids);

  postgres::PgBlocking database_;
  std::string schema_;
};

}  // namespace semel::relay
