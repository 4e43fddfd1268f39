#pragma once

#include <string>
#include <string_view>

#include "semel/claim.h"

// The id of the record that belongs to a key:
//
//   const Scope orders{.name_space = "default", .tenant = "shop", .operation = "orders"};
//   const RecordId id = make_id(orders, key);
//   log(id.hex());
namespace semel {

// A key has a meaning only inside one scope.
struct Scope {
  std::string name_space;
  std::string tenant;
  std::string operation;
};

// Returns the id of the record for `key` in `scope`. Equal arguments give equal ids.
RecordId make_id(const Scope& scope, std::string_view key);

}  // namespace semel
