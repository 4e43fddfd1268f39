#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "cli/admin/client.h"

namespace semel::cli {

// Posts a change of many items, page by page, until none is left, and prints what became of each.
// `change` has `where`, `dry_run` and whatever belongs to the change; `past` is "released". Returns
// the exit code.
int change_many(AdminClient& admin, const std::string& target, const std::string& past,
                boost::json::object change, bool as_json);

}  // namespace semel::cli
