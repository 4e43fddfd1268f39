#pragma once

#include <boost/json/array.hpp>

#include "semel/driver/record.h"

namespace semel::admin {

// Tells a record's history, oldest first: {at, what, state, attempt, who, why, trace}. The record
// keeps the last 16 entries, so a long story may lack its beginning.
boost::json::array timeline_of(const Record& record);

}  // namespace semel::admin
