#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "semel/driver/record.h"

namespace semel::execution {

// The label under which `forward_key: derived` derives the upstream's key.
inline constexpr std::string_view kForwardLabel = "upstream";

// How the key is passed on in the request to the upstream: which of the client's fields are left
// out, and which fields are added.
struct KeyForwarding {
  std::vector<std::string> drop;
  std::vector<Header> add;
};

// Depends only on the route and the record's id, so that every attempt tells the executor the same
// key, even one that is let through while the store is down.
KeyForwarding forward_key(const config::RouteConfig& route, const RecordId& record,
                          std::string_view key, bool key_in_header);

}  // namespace semel::execution
