#pragma once

#include <memory>
#include <string>

#include "semel/driver/record.h"
#include "semel/outcome.h"
#include "semel/time.h"

// The changes that transition() is made of: each brings a record into one state, with everything
// that belongs to that state, and remembers it in the history. None of them asks whether it may.
namespace semel::core {

// Why a record is as it is: the text for people, and the code for programs.
struct Reason {
  std::string text;
  ReasonCode code = ReasonCode::other;
};
// No attempt has ended under the record's token.
Reason nothing_executed();
// An attempt has ended, whatever its outcome says about the reason.
Reason reason_of(const Outcome& outcome);
void set_reason(Record& record, Reason reason);

// Adds to the history, which keeps the latest entries.
void remember(Record& record, Time now, std::string note);

void become_unknown(Record& record, Time now, Reason reason);
// The caller sets `tombstone_until`.
void become_tombstone(Record& record, Time now, std::string note);
// `created_lag`: by how much the clock was set forward since the record was created.
void become_completed(Record& record, Time now, Answer answer, Reason reason, Duration created_lag);
void become_released(Record& record, Time now, Reason reason);
// `reason`: how the last attempt ended, or nothing_executed() under the record's token.
void become_queued_again(Record& record, Time now, Time due, Reason reason, std::string note);

std::shared_ptr<Record> copy_of(const Record& record);

}  // namespace semel::core
