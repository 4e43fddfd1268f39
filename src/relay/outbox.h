#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "relay/database.h"
#include "semel/record.h"

// The relay's side of sql/004_outbox.sql. Every call blocks, is one transaction, and leaves none
// open. An error is a sentence for the operator; what the statement did is not known then.
namespace semel::relay {

struct StoredMessage {
  std::int64_t id = 0;
  std::string payload;
  std::string headers;  // JSON
  std::optional<RecordId> record;
  int attempts = 0;
  std::int64_t enqueued_at = 0;  // in milliseconds
};

// A lane that is ours until its lease runs out, and its first messages, in order.
struct LeasedLane {
  std::int64_t lane = 0;
  std::int64_t lease = 0;
  std::string destination;
  std::optional<std::string> ordering_key = {};  // nullopt: no more come behind these
  std::vector<StoredMessage> messages;
};

enum class Verdict { delivered, retry, dead, blocked, end };
// What became of a message, or (`end`) that no more of the lane will be delivered under this lease.
// `retry`, `blocked` and `end` give the lane back.
struct Report {
  std::int64_t lane = 0;
  std::int64_t lease = 0;
  std::int64_t id = 0;
  Verdict verdict{};
  std::string why = {};
  Duration delay{0};
};

enum class LieDown {
  idle,     // who enqueues from now on notifies
  another,  // another relay waits; notifications come here too
  soon,     // a transaction that enqueued is open and will not notify
};

class Outbox {
 public:
  static std::expected<Outbox, std::string> open(const std::string& url, const std::string& schema);

  // What keys are derived from where there is no record.
  const RecordId& identity() const { return identity_; }

  std::expected<std::vector<LeasedLane>, std::string> take(
      const std::vector<std::string>& destinations, const std::vector<std::int64_t>& slots,
      const std::string& who, Duration lease);
  // Both give the leases that are not ours any more; of those nothing was written.
  std::expected<std::vector<std::int64_t>, std::string> report(const std::vector<Report>& reports);
  std::expected<std::vector<std::int64_t>, std::string> renew(
      const std::vector<std::int64_t>& lanes, const std::vector<std::int64_t>& leases,
      Duration lease);
  // Until the next lane is due; nullopt: there is none. May be negative.
  std::expected<std::optional<Duration>, std::string> next_due(
      const std::vector<std::string>& destinations);
  std::expected<std::vector<std::string>, std::string> destinations(const std::string& after,
                                                                    std::size_t names_max);
  std::expected<LieDown, std::string> lie_down();
  std::expected<void, std::string> get_up();
  // See Database::wait.
  std::expected<bool, std::string> wait(int other, Duration timeout) {
    return database_.wait(other, timeout);
  }

 private:
  Outbox(Database database, std::string schema)
      : database_(std::move(database)), schema_(std::move(schema)) {}
  std::string function(std::string_view name_and_arguments) const;

  Database database_;
  std::string schema_;
  RecordId identity_;
};

}  // namespace semel::relay
