#pragma once

#include <string>
#include <vector>

#include "http/message.h"

namespace semel::http {

// The client's preferences (RFC 7240), from all its Prefer fields.
struct Preferences {
  bool respond_async = false;
  std::string others;  // the rest, for the executor, as the value of one field; may be empty
};

// Never fails: a preference that cannot be read is ignored here and passed on.
Preferences read_preferences(const std::vector<Field>& fields);

}  // namespace semel::http
