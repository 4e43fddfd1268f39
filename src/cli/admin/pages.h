#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <string>

#include "cli/admin/client.h"

namespace semel::cli {

// A list of the admin API that comes in pages. A page may be empty although there is more.
struct Pages {
  std::string path;        // "/api/keys"
  std::string query = {};  // "&state=unknown"
  std::size_t limit = SIZE_MAX;
};

// Returns `&name=value` for each member.
std::string query_of(const boost::json::object& filter);

struct PagesEnd {
  int code = 0;           // of a failure, which has been explained
  bool has_more = false;  // there may be more than `limit`
};
// Calls `use` with each element of the pages' `list`. `use` returns an exit code: one that is not 0
// ends it.
PagesEnd for_each_item(AdminClient& admin, const Pages& pages, std::string_view list,
                       const std::function<int(const boost::json::value& item)>& use);

}  // namespace semel::cli
