#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/route.h"

namespace semel {

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
