#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "semel/fingerprint.h"
#include "semel/time.h"

namespace semel {

// SHA-256 of the length-prefixed namespace, tenant, operation and key. See make_id() in scope.h.
struct RecordId {
  std::array<std::uint8_t, 32> bytes{};
  auto operator<=>(const RecordId&) const = default;
  std::string hex() const;
};

// The fence: 128 random bits that identify one claim. A writer is current if and only if its token
// is the record's.
struct Token {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const Token&) const = default;
  std::string hex() const;
};

// Changes with every write. A version is never reused for an id, not even after the record was
// removed. 0 means "absent".
using Version = std::uint64_t;

// The numbers are part of the record format.
enum class RecordState : std::uint8_t {
  queued = 1,
  in_progress = 2,
  completed = 3,
  released = 4,
  unknown = 5,
  tombstone = 6,
};
std::string_view to_string(RecordState state);

struct Header {
  std::string name;
  std::string value;
  bool operator==(const Header&) const = default;
};

enum class BodyNote : std::uint8_t {
  kept = 0,     // `body` holds the whole body
  omitted = 1,  // the answer had a body too large to store
  spilled = 2,  // the body is in chunks beside the record, under the record's token
};

// The part of the executor's answer that is kept.
struct Answer {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
  BodyNote body_note = BodyNote::kept;
  std::uint64_t spilled_bytes = 0;  // size of a spilled body
  bool operator==(const Answer&) const = default;
};

// The answer and the queued request of a record, encrypted at rest under a named key.
struct Sealed {
  std::string key_id;  // empty: nothing is sealed
  std::string bytes;   // nonce, ciphertext, tag
  bool operator==(const Sealed&) const = default;
};

// The holder of a claim: a node, and one run (process lifetime) of it.
struct Owner {
  std::string node;
  std::uint64_t run = 0;
  bool operator==(const Owner&) const = default;
};

// One entry of the record's short history: says what happened to it, when, and why.
struct HistoryEntry {
  Time at{};
  RecordState to = RecordState::in_progress;
  std::uint32_t attempt = 0;
  std::string note;
  bool operator==(const HistoryEntry&) const = default;
};
inline constexpr std::size_t kHistoryEntriesMax = 16;

enum class RecordResult : std::uint8_t { none = 0, succeeded = 1, failed = 2 };

// The data that the store keeps for a key in its scope. A plain value, without rules of its own.
struct Record {
  RecordId id;
  Version version = 0;  // assigned by the store, not part of the encoding
  RecordState state = RecordState::in_progress;
  std::uint32_t attempt = 0;
  Token token;
  Owner owner;
  Recipe recipe;
  Fingerprint fingerprint;

  Time lease_until{};
  Time created_at{};
  Time updated_at{};
  Time expires_at = kNever;       // completed, released: becomes a tombstone or is removed then
  Time tombstone_until = kNever;  // tombstone: is removed then. kNever: stays forever
  Time hold_until = kNever;       // unknown: when hold_for has passed

  // The route's rules at the time of the claim. Stored so that the sweeper needs no configuration.
  Duration ttl{};
  Duration tombstone{};
  Duration hold_for = Duration::max();
  bool ttl_from_creation = false;

  RecordResult result = RecordResult::none;
  std::string reason;
  bool only_auth_failures = false;  // every attempt so far ended in 401, 403 or 407
  int status_begun = 0;             // a streaming answer has begun with this status
  Answer answer;
  std::string response_version;
  std::string resource_type;
  std::string resource_id;
  std::string trace;  // traceparent of the first execution
  std::vector<HistoryEntry> history;

  // The secret half of the status resource's name; all zero: the record has no such resource.
  Token handle;
  std::string request;  // queued: the request itself, as the gateway encodes it
  Sealed sealed;        // in the store only: the answer and the request, encrypted

  // For people. Nothing is ever decided by these.
  std::string tenant;
  std::string operation;
  std::string key;

  bool operator==(const Record&) const = default;
};

// A record that nobody changes any more. Sharing it costs no copy, however many keep it.
using RecordPtr = std::shared_ptr<const Record>;

// Returns the time at which the sweeper should look at the record: the end of its lease, its ttl,
// its tombstone or its hold. kNever: the record is not due by itself.
Time due_at(const Record& record);

}  // namespace semel

template <>
struct std::hash<semel::RecordId> {
  std::size_t operator()(const semel::RecordId& id) const noexcept {
    std::size_t value = 0;  // the id is itself a digest
    std::memcpy(&value, id.bytes.data(), sizeof value);
    return value;
  }
};
