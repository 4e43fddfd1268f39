#pragma once

#include <string>
#include <string_view>

#include "semel/record.h"

namespace semel {

// A key means something only inside one scope.
struct Scope {
  std::string name_space;
  std::string tenant;
  std::string operation;
};

RecordId make_id(const Scope& scope, std::string_view key);

}  // namespace semel
