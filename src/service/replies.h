#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/problem.h"
#include "semel/driver/record.h"

// The answers of the service API.
namespace semel::service {

// 201: the claim.
Answer claimed(const Record& record, Time now);
// 200: the lease after a renewal.
Answer renewed(const Record& record, Time now);
// 200: the record as a client may see it, with its answer. Never shows a token.
Answer shown(const Record& record);
// 200: the record's state after a report. The same for every repetition of the report.
Answer reported(const Record& record);

Answer problem(const core::Problem& problem,
               std::optional<std::chrono::seconds> retry_after = std::nullopt);
// For a body that is not as the API wants it. `new_key_safe`: nothing was executed under the key.
Answer invalid(std::string why, bool new_key_safe);
// For a record that is not there, or not the client's: the same in both cases.
Answer no_such_record();
Answer store_unavailable(std::string detail);

}  // namespace semel::service
