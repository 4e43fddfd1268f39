// Answers what people, and jobs that clean up, ask about records.
#include "base/hex.h"
#include "base/overloaded.h"
#include "library/inside.h"
#include "library/run_here.h"

namespace semel {
namespace {

constexpr std::size_t kPageRecords = 256;

v1::Engine::Entry to_entry(const Record& record) {
  v1::Engine::Entry entry;
  entry.record = record.id.hex();
  entry.tenant = record.tenant;
  entry.operation = record.operation;
  entry.key = record.key;
  entry.state = to_string(record.state);
  entry.reason = record.reason;
  entry.attempt = record.attempt;
  entry.since = record.updated_at;
  return entry;
}

[[noreturn]] void refuse(const std::string& why) {
  throw v1::Unavailable("the store cannot be used: " + why);
}

void must(const v1::Inside::Stay& stay) {
  if (!stay) throw v1::Unavailable("the engine is closed");
}

}  // namespace

std::optional<v1::Engine::Entry> v1::Inside::find(const Operation& operation, const Call& call) {
  const library::Asked asked = ask(operation, call);
  const Stay stay(*this);
  must(stay);
  const auto found = library::run_here(store_->read(asked.id));
  if (!found) refuse(found.error().why);
  if (!*found) return std::nullopt;
  return to_entry(**found);
}

void v1::Inside::each_unknown(const std::function<bool(const Engine::Entry&)>& visit) {
  const Stay stay(*this);
  must(stay);
  std::optional<RecordId> after;
  do {
    const auto page = library::run_here(store_->scan(after, kPageRecords));
    if (!page) refuse(page.error().why);
    for (const RecordPtr& record : page->records) {
      if (record->state == RecordState::unknown && !visit(to_entry(*record))) return;
    }
    after = page->next;
  } while (after && !closing_);
}

bool v1::Inside::resolve(std::string_view record, std::optional<Answer> answer, std::string who,
                         std::string why) {
  const auto bytes = base::decode_hex(record);
  RecordId id;
  if (!bytes || bytes->size() != id.bytes.size()) {
    throw Error("a record's id has 64 hexadecimal digits");
  }
  std::ranges::copy(*bytes, id.bytes.begin());
  if (answer && answer->status == 0) answer->status = 200;
  const Stay stay(*this);
  must(stay);
  const Resolved resolved = library::run_here(engine_->resolve(
      id, {.answer = std::move(answer), .who = std::move(who), .why = std::move(why)}));
  return std::visit(base::Overloaded{
                        [](const resolve::Done&) { return true; },
                        [](const resolve::NotFound&) { return false; },
                        [](const resolve::Refused& refused) -> bool { throw Error(refused.why); },
                        [](const StoreUnavailable& found) -> bool { refuse(found.why); },
                    },
                    resolved);
}

bool v1::Inside::healthy() {
  const Stay stay(*this);
  return stay && !store_->trouble();
}

}  // namespace semel
