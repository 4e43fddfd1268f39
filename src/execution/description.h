#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "semel/driver/record.h"

namespace semel::execution {

// Returns what a record keeps of a request for people: its method, its path, and those of the
// members at `pointers` that its body has. Empty with `record_format: 2`. Everything is bounded:
// longer texts are cut and end with kCutMark; members for which no room is left, and all members of
// a body that is not JSON or too large to be looked through, are left out.
Description describe(const config::Config& config, std::string_view method, std::string_view path,
                     const std::vector<std::string>& pointers, std::string_view body);

}  // namespace semel::execution
