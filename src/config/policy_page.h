#pragma once

#include <string>

#include "config/config.h"

namespace semel::config {

// Returns the published policy, the body of GET /.semel/policy: the rules of each route for keys,
// how long answers are kept, which statuses and limits apply.
std::string make_policy_page(const Config& config);

}  // namespace semel::config
