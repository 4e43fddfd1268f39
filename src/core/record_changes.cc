#include "core/record_changes.h"

#include <utility>

#include "semel/driver/operation.h"

namespace semel::core {
namespace {

// Frees the memory as well: a completed record may be kept for a long time.
void drop(std::string& text) {
  std::string().swap(text);
}

}  // namespace

Reason nothing_executed() {
  return {"", ReasonCode::none};
}

Reason reason_of(const Outcome& outcome) {
  const bool has_code = outcome.reason_code != ReasonCode::none;
  return {outcome.reason, has_code ? outcome.reason_code : ReasonCode::other};
}

void set_reason(Record& record, Reason reason) {
  record.reason = std::move(reason.text);
  record.reason_code = reason.code;
}

void remember(Record& record, Time now, std::string note) {
  if (record.history.size() == kHistoryEntriesMax) record.history.erase(record.history.begin());
  record.history.push_back({now, record.state, record.attempt, std::move(note)});
  record.updated_at = now;
}

void become_unknown(Record& record, Time now, Reason reason) {
  record.state = RecordState::unknown;
  set_reason(record, std::move(reason));
  record.only_auth_failures = false;
  record.hold_until = after(now, record.hold_for);
  record.expires_at = kNever;
  remember(record, now, record.reason);
}

void become_tombstone(Record& record, Time now, std::string note) {
  record.state = RecordState::tombstone;
  record.answer = {};
  drop(record.request);
  record.description.members.clear();
  record.sealed = {};
  record.expires_at = kNever;
  record.hold_until = kNever;
  remember(record, now, std::move(note));
}

void become_completed(Record& record, Time now, Answer answer, Reason reason,
                      Duration created_lag) {
  record.state = RecordState::completed;
  record.result = answer.status < 400 ? RecordResult::succeeded : RecordResult::failed;
  record.answer = std::move(answer);
  drop(record.request);
  record.status_begun = 0;
  record.hold_until = kNever;
  // With ttl_from_creation a slow execution may outlive its ttl; the record is then due at once.
  // This must not happen if only the clock was set forward meanwhile.
  const Time from = record.ttl_from_creation ? after(record.created_at, created_lag) : now;
  record.expires_at = after(from, record.ttl);
  record.tombstone_until = after(record.expires_at, record.tombstone);
  set_reason(record, std::move(reason));
  remember(record, now, record.reason);
}

void become_released(Record& record, Time now, Reason reason) {
  record.state = RecordState::released;
  record.result = RecordResult::none;
  record.answer = {};
  drop(record.request);
  record.status_begun = 0;
  record.hold_until = kNever;
  record.expires_at = after(now, record.only_auth_failures ? kAuthFailureTtl : record.ttl);
  // A client that came without credentials must not be shut out for the length of a tombstone.
  record.tombstone_until =
      record.only_auth_failures ? record.expires_at : after(record.expires_at, record.tombstone);
  set_reason(record, std::move(reason));
  remember(record, now, record.reason);
}

void become_queued_again(Record& record, Time now, Time due, Reason reason, std::string note) {
  record.state = RecordState::queued;
  record.lease_until = due;
  record.hold_until = kNever;
  record.status_begun = 0;
  record.only_auth_failures = false;
  set_reason(record, std::move(reason));
  remember(record, now, std::move(note));
}

std::shared_ptr<Record> copy_of(const Record& record) {
  return std::make_shared<Record>(record);
}

}  // namespace semel::core
