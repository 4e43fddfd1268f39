#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "semel/answer.h"
#include "semel/claim.h"
#include "semel/driver/fingerprint.h"
#include "semel/outcome.h"
#include "semel/time.h"

// A record as a store keeps it:
//
//   const RecordPtr record = (co_await store.read(id)).value();  // null: absent
//   if (record && record->state == RecordState::completed) send(record->answer);
//   const Time due = record ? due_at(*record) : kNever;
namespace semel {

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

// The answer, the queued request and the described members of a record, encrypted at rest under a
// named key.
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

// Returns the owner of a claim that a client of the service API holds, granted by this run. Such a
// claim lives outside of every process of Semel: only its lease says how long it is alive, whatever
// becomes of the process that granted it.
Owner client_owner(std::string_view client, std::uint64_t run);
bool is_held_by_client(const Owner& owner);

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

// A member of the request's body that the record keeps for people.
struct DescribedMember {
  std::string pointer;  // JSON Pointer to it
  std::string value;    // its JSON text; ends with kCutMark if it was too long
  bool operator==(const DescribedMember&) const = default;
};
// Stands at the end of a text that was cut. No JSON text and no path ends with it.
inline constexpr std::string_view kCutMark = "\u2026";

// The request that the last attempt was made for, as far as people need it to decide about its
// outcome. All empty: the record was not made for a request, or by a program that kept nothing.
struct Description {
  std::string method;
  std::string path;  // without the query; ends with kCutMark if it was too long
  std::vector<DescribedMember> members;
  bool operator==(const Description&) const = default;
};

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
  ReasonCode reason_code = ReasonCode::none;
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
  Sealed sealed;        // in the store only: answer, request and members, encrypted

  // For people. Decide nothing by these but who may see the record.
  Description description;
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
