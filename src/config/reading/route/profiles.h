#pragma once

#include <optional>
#include <string_view>

#include "config/reading/reader.h"
#include "config/reading/route/draft.h"

// The conventions of APIs in the field, each a set of route keys. docs/configuration.md has the
// table.
namespace semel::config_file {

struct Profile {
  std::string_view name;
  void (*apply)(RouteDraft& draft);
};

// Reported, and the first one (`ietf`, which changes nothing), if there is none of that name.
const Profile& read_profile(const Field& field);
const Profile& default_profile();

}  // namespace semel::config_file
