#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "stores/group_commit.h"

namespace semel {

struct PostgresOptions {
  std::string url;               // as libpq takes it
  std::string schema = "semel";  // is_schema_name()
  std::size_t connections = 4;   // for records; one more listens for notifications
  // Told of each batch that was committed, on the store's thread; may be empty.
  std::function<void(const GroupCommit&)> committed = {};
  // Told in a sentence of what makes the database less safe than it could be, and of calls of the
  // upkeep that failed; on the store's thread, and may be empty.
  std::function<void(const std::string&)> warn = {};
  std::function<void(std::string_view call, const std::string& why)> failed = {};
};

}  // namespace semel
