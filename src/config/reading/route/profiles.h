#pragma once

#include <optional>
#include <string_view>

#include "config/reading/reader.h"
#include "config/reading/route/draft.h"

// The conventions of well-known APIs, each a set of route keys. docs/configuration.md has the
// table.
namespace semel::config::reading {

struct Profile {
  std::string_view name;
  void (*apply)(RouteDraft& draft);
};

// Returns the profile of that name. If there is none, reports it and returns the first (`ietf`,
// which changes nothing).
const Profile& read_profile(const Field& field);
const Profile& default_profile();

}  // namespace semel::config::reading
