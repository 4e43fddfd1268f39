#pragma once

#include <functional>
#include <string>

namespace semel::config {

// Called while a file is read, for each key that one of its mappings may have, given or not:
// "store.path", "routes[0].ttl". May be empty.
using KnownKey = std::function<void(const std::string& path)>;

}  // namespace semel::config
