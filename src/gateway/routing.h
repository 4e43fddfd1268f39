#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config.h"

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

// First match wins. A request does not get past a webhook's signature by another spelling of its
// path: what a service may take for the path of a webhook route has no route, unless one that
// stands before it takes both spellings, or names exactly this one.
class Router {
 public:
  explicit Router(const std::vector<RouteConfig>& routes);
  // The index of the route, or nullopt.
  std::optional<std::size_t> match(std::string_view path) const;

 private:
  struct Pattern {
    std::vector<std::string> segments;  // "{}" stands for any one segment
    bool prefix = false;
  };
  // A route, with its path as loose_path() reads it.
  struct Loose {
    bool is_webhook = false;
    bool is_literal = false;
    Pattern pattern;
  };
  bool passes_by_webhook(std::size_t found, std::string_view path) const;
  bool is_taken_for_webhook(std::size_t found, std::string_view loose) const;

  std::vector<Pattern> patterns_;
  std::vector<Loose> loose_;  // empty where there is no webhook
};

}  // namespace semel
