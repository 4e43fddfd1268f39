#pragma once

#include <string>
#include <string_view>

#include "semel/pg.h"

namespace semel::pg {

// The word of a claim that is to be executed.
inline constexpr std::string_view kExecute = "execute";

// Every other word, with the columns it is told in: the record's id, and from `status` on the
// answer.
Result without_execution(const std::string& verdict, const Rows& rows, int record_column,
                         int status_column);

}  // namespace semel::pg
