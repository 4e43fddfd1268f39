#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "semel/driver/record.h"

// Records to store, and the comparison with what comes back.
namespace semel {

inline void PrintTo(const RecordId& id, std::ostream* out) {
  *out << id.hex().substr(0, 8) << "…";
}

}  // namespace semel

namespace semel::conformance {

// Records as values, for tests that compare them; nullopt stands for null.
inline std::shared_ptr<Record> shared(std::optional<Record> record) {
  return record ? std::make_shared<Record>(*std::move(record)) : nullptr;
}
inline std::optional<Record> value_of(const RecordPtr& record) {
  return record ? std::optional(*record) : std::nullopt;
}

// Some id; the ids of growing numbers are in no order.
RecordId id_of(std::uint64_t number);

// All times in the suite are around this one. It lies in the future, so that a store which lets
// the server remove what is due does not do so during a test.
inline constexpr Time kThen{std::chrono::sys_days{std::chrono::year{2100} / 1 / 1}};

// A claim with every field set that a claim has, whose lease ends an hour after kThen.
Record claim_of(const RecordId& id);
// A completed record with the fields of claim_of(); its ttl ends at `expires_at`.
Record completion_of(const RecordId& id, Time expires_at);
Record unknown_of(const RecordId& id, Time since);

Record at_version(Record record, Version version);

// Returns an empty text if both are the same, otherwise a sentence that names the fields which
// differ.
std::string difference(const std::optional<Record>& found, const std::optional<Record>& wanted);

}  // namespace semel::conformance
