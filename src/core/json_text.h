#pragma once

#include <boost/json/value.hpp>
#include <string>

namespace semel::core {

// Like boost::json::serialize(), but writes numbers as people do, without an exponent: 86400 and
// 1.5, not 8.64E4 and 1.5E0. Infinities and NaN, which JSON does not have, become null.
std::string json_text(const boost::json::value& value);

}  // namespace semel::core
