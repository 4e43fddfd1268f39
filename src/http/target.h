#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace semel::http {

// A parsed request target. It has only one reading: the path that is routed, and that counts in
// fingerprints and scopes, is the path that is sent on, byte for byte. Unreserved characters are
// decoded, other escapes are in upper case, and doubled slashes are merged, so that a resource has
// one route and one fingerprint however it is spelled.
struct Target {
  std::string path;
  std::string query;      // without the '?'
  std::string origin;     // in origin-form, as it is sent on: the path, and the query as it came
  std::string authority;  // from absolute-form; "": the target had another form
};

// Accepts origin-form, absolute-form and `*`. The error is a phrase that says why this gateway does
// not take the target. Also refuses what some service would read as leading elsewhere: a dot
// segment, however it is escaped, a backslash, a NUL.
std::expected<Target, std::string_view> parse_target(std::string_view target);

}  // namespace semel::http
