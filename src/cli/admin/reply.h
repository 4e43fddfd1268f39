#pragma once

#include <boost/json/value.hpp>

namespace semel::cli {

// An answer of the admin API.
struct AdminReply {
  int status = 0;
  boost::json::value body;  // null, if it was not JSON
};

}  // namespace semel::cli
