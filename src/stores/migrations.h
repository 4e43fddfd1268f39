#pragma once

#include <string_view>
#include <vector>

namespace semel {

// One step of the PostgreSQL schema: a file of sql/, embedded at build time, in which the schema is
// called `semel`.
struct Migration {
  int number = 0;
  std::string_view name;  // "001_records"
  std::string_view text;
};

// In order.
const std::vector<Migration>& migrations();

}  // namespace semel
