#pragma once

#include <string>

#include "config/config.h"

namespace semel {

// The published policy: what each route asks of keys, how long answers are kept, which statuses
// and limits apply. The body of GET /.semel/policy.
std::string make_policy_page(const Config& config);

}  // namespace semel
