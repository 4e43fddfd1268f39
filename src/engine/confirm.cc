#include "engine/confirm.h"

#include <variant>

#include "base/overloaded.h"

namespace semel::engine {
namespace {

// Writes only if needed: the store may have set the version, and others may be reading the record
// by now.
void set_version(Record& record, Version version) {
  if (record.version != version) record.version = version;
}

// Changes `found` for the comparison, and changes it back: nobody but the caller may hold it.
bool same_but_version(Record& found, const Record& written) {
  const Version version = found.version;
  found.version = written.version;
  const bool same = found == written;
  found.version = version;
  return same;
}

}  // namespace

Confirm::Step Confirm::took(SwapResult& result) {
  return std::visit(
      base::Overloaded{
          [this](swap::Applied& applied) {
            if (next_) set_version(*next_, applied.version);
            return Step::durable;
          },
          [this](swap::Conflict& conflict) { return conflicts(std::move(conflict.current)); },
          [this](swap::Busy& busy) {
            // The last committed record says nothing about a write that may still land.
            if (unsure_) return Step::later;
            found_ = std::move(busy.current);
            const bool moved = found_ && found_->version != expected_;
            return moved ? Step::lost : Step::held;
          },
          [this](swap::Unknown&) {
            unsure_ = true;
            return Step::later;
          },
          [this](StoreUnavailable&) { return unsure_ ? Step::later : Step::unavailable; },
          [](swap::TooLarge&) { return Step::too_large; },
      },
      result);
}

Confirm::Step Confirm::conflicts(std::shared_ptr<Record> current) {
  found_ = std::move(current);
  if (mark_ == Mark::token) {
    if (!found_ || found_->token != next_->token) return Step::lost;
    if (found_->state != next_->state) return Step::ended;
  } else {
    if (!unsure_) return Step::lost;
    if (!found_ && !next_) return Step::gone;
    if (!found_ || !next_ || !same_but_version(*found_, *next_)) return Step::lost;
  }
  next_ = std::move(found_);
  expected_ = next_->version;
  seen_ = true;
  return Step::again;
}

}  // namespace semel::engine
