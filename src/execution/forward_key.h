#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "semel/record.h"

namespace semel {

// The label under which `forward_key: derived` derives the upstream's key.
inline constexpr std::string_view kForwardLabel = "upstream";

// What becomes of the key in the request that goes to the upstream: which fields of the client are
// left out, and which are added.
struct KeyForwarding {
  std::vector<std::string> drop;
  std::vector<Header> add;
};

// Depends on the route and the record's id alone, so that every attempt, and one that is let
// through while the store is down, tells the executor the same key.
KeyForwarding forward_key(const RouteConfig& route, const RecordId& record, std::string_view key,
                          bool key_in_header);

}  // namespace semel
