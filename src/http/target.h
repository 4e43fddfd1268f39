#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace semel {

// A request target, taken apart. There is one reading of it: the path that is routed, that counts
// in fingerprints and scopes, is the one that is sent on, byte for byte. Unreserved characters are
// decoded, other escapes are in upper case, doubled slashes are one; so that one resource has one
// route and one fingerprint however it is spelled.
struct Target {
  std::string path;
  std::string query;      // without the '?'
  std::string origin;     // origin-form as it is sent on: the path, and the query as it came
  std::string authority;  // of absolute-form; "": it was another form
};

// Accepts origin-form, absolute-form and `*`. The error says in a phrase why it is not a target
// that this gateway takes. Refused is also what some service would read as leading elsewhere: a dot
// segment, however it is escaped, a backslash, a NUL.
std::expected<Target, std::string_view> parse_target(std::string_view target);

}  // namespace semel
