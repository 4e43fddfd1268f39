#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "semel/driver/record.h"

namespace semel::execution {

// Returns the id of what an execution made, found where the route's `resource.id` says: a JSON
// Pointer into the body (a string or a whole number), or a header of the answer. Empty: the answer
// has no id there, or one that nobody could read in a list (over 255 characters, or not printable).
std::string find_resource_id(const config::ResourceConfig& config,
                             const std::vector<Header>& headers, std::string_view body);

}  // namespace semel::execution
