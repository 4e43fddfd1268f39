#pragma once

#include <string_view>
#include <vector>

// The files of sql/, embedded at build time. They call the schema `semel`.
namespace semel::postgres {

// Tables and types: applied once, and never edited after a release.
struct Migration {
  int number = 0;
  std::string_view name;  // "001_records"
  std::string_view text;
};

// Returns the migrations in order.
const std::vector<Migration>& migrations();

// Returns the files with functions and everything else that can be recreated in place. All of them
// are applied, in this order, whenever one of them has changed.
const std::vector<std::string_view>& function_files();

// Adopts a schema from before checksums were kept.
std::string_view adoption();

}  // namespace semel::postgres
