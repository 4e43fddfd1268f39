#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "stores/group_commit.h"

namespace semel::stores {

struct PostgresOptions {
  std::string url;               // as libpq takes it
  std::string schema = "semel";  // is_schema_name()
  std::size_t connections = 4;   // for records; one more listens for notifications
  // Called on the store's thread for each committed batch; may be empty.
  std::function<void(const GroupCommit&)> committed = {};
  // Called on the store's thread: `warn` with a sentence about anything that makes the database
  // less safe than it could be, `failed` for each call of the upkeep that failed, and for each
  // sweep that found records it cannot read. May be empty.
  std::function<void(const std::string&)> warn = {};
  std::function<void(std::string_view call, const std::string& why)> failed = {};
};

}  // namespace semel::stores
