#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "semel/driver/record.h"

namespace semel::admin {

// Shows a record as operators see it. Leaves out everything that would let somebody act in
// another's name or see a client's data: the token, the status resource's handle, the bodies but
// for the members that the route describes.
boost::json::object record_summary(const Record& record, Time now);
boost::json::object record_details(const Record& record, Time now);
std::string_view body_note_name(BodyNote note);

}  // namespace semel::admin
