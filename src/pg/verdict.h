#pragma once

#include <string>
#include <string_view>

#include "semel/pg.h"

namespace semel::pg {

// The verdict on a claim that must be executed.
inline constexpr std::string_view kExecute = "execute";

// Converts every other verdict. `record_column` holds the record's id; the answer begins at
// `status_column`.
Result without_execution(const std::string& verdict, const Rows& rows, int record_column,
                         int status_column);

}  // namespace semel::pg
