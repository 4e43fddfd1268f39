#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "postgres/blocking.h"
#include "semel/driver/record.h"

// The relay's side of sql/functions/4_outbox.sql. Every call blocks, is one transaction, and leaves
// none open. An error is a sentence for the operator; then it is not known what the statement did.
namespace semel::relay {

struct StoredMessage {
  std::int64_t id = 0;
  std::string payload;
  std::string headers;  // JSON
  std::optional<RecordId> record;
  int attempts = 0;
  std::int64_t enqueued_at = 0;  // in milliseconds
};

// Identifies a lease among all that ever were: numbers may be given out again after a crash of the
// database, but not on one connection.
struct LeaseId {
  std::int64_t number = 0;
  std::uint64_t connection = 0;  // the relay's connection on which it was taken
  auto operator<=>(const LeaseId&) const = default;
};

// A lane that is ours until its lease runs out, and its first messages, in order.
struct LeasedLane {
  std::int64_t lane = 0;
  LeaseId lease;
  std::string destination;
  std::optional<std::string> ordering_key = {};  // nullopt: no more messages follow these
  std::vector<StoredMessage> messages;
};

enum class Verdict { delivered, retry, dead, blocked, end };
// Reports what became of a message, or (`end`) that no more of the lane will be delivered under
// this lease. `retry`, `blocked` and `end` give the lane back.
struct Report {
  std::int64_t lane = 0;
  LeaseId lease;
  std::int64_t id = 0;
  Verdict verdict{};
  std::string why = {};
  Duration delay{0};
};

enum class LieDown {
  idle,     // whoever enqueues from now on notifies
  another,  // another relay waits; notifications come here too
  soon,     // a transaction that enqueued is open and will not notify
};

// How much more of one destination a relay can be given.
struct Room {
  std::string destination;
  std::int64_t lanes = 0;
  std::int64_t bytes = 0;  // of their first messages; as much again may follow those
  bool is_idle = false;    // nothing of it is held, so one message is given whatever its size
};

class Outbox {
 public:
  // `who` names the relay and `connection` this connection of it.
  static std::expected<Outbox, std::string> open(const std::string& url, const std::string& schema,
                                                 std::string who, std::uint64_t connection,
                                                 Duration patience);
  // See PgBlocking::set_patience.
  void set_patience(Duration patience) { database_.set_patience(patience); }

  // Keys are derived from this where there is no record.
  const RecordId& identity() const { return identity_; }

  std::expected<std::vector<LeasedLane>, std::string> take(const std::vector<Room>& rooms,
                                                           Duration lease);
  // Both return the leases that are not ours any more; nothing was written for those. They may have
  // been taken on an earlier connection.
  std::expected<std::vector<LeaseId>, std::string> report(const std::vector<Report>& reports);
  std::expected<std::vector<LeaseId>, std::string> renew(const std::vector<std::int64_t>& lanes,
                                                         const std::vector<LeaseId>& leases,
                                                         Duration lease);
  // Returns the time until the next lane is due; nullopt: there is none. May be negative.
  std::expected<std::optional<Duration>, std::string> next_due(
      const std::vector<std::string>& destinations);
  std::expected<std::vector<std::string>, std::string> destinations(const std::string& after,
                                                                    std::size_t names_max);
  std::expected<LieDown, std::string> go_idle();
  std::expected<void, std::string> get_up();
  // See PgBlocking::wait.
  std::expected<bool, std::string> wait(int other, Duration timeout) {
    return database_.wait(other, timeout);
  }

 private:
  Outbox(postgres::PgBlocking database, std::string schema, std::string who,
         std::uint64_t connection)
      : database_(std::move(database)),
        schema_(std::move(schema)),
        who_(std::move(who)),
        connection_(connection) {}
  // Returns the name under which a connection of this relay holds its leases.
  std::string holder(std::uint64_t connection) const;
  std::string function(std::string_view name_and_arguments) const;

  postgres::PgBlocking database_;
  std::string schema_;
  std::string who_;
  std::uint64_t connection_;
  RecordId identity_;
};

}  // namespace semel::relay
