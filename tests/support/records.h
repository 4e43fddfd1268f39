#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "semel/record.h"

namespace semel {

// Records as values, for tests that compare them; nullopt stands for null.
inline std::shared_ptr<Record> shared(std::optional<Record> record) {
  return record ? std::make_shared<Record>(*std::move(record)) : nullptr;
}
inline std::optional<Record> value_of(const RecordPtr& record) {
  return record ? std::optional(*record) : std::nullopt;
}

}  // namespace semel
