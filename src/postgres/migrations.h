#pragma once

#include <string_view>
#include <vector>

// The files of sql/, embedded at build time. The schema is called `semel` in them.
namespace semel {

// Tables and types: applied once, and never edited once it is released.
struct Migration {
  int number = 0;
  std::string_view name;  // "001_records"
  std::string_view text;
};

// In order.
const std::vector<Migration>& migrations();

// Functions, and what else can be made again over what is there: all of them are applied, in this
// order, whenever one of them differs from what was.
const std::vector<std::string_view>& function_files();

// Takes over a schema of before checksums were kept.
std::string_view adoption();

}  // namespace semel
