#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/route.h"

namespace semel::runtime {

// First match wins. A request cannot evade a webhook's signature by another spelling of its path: a
// path that a service may take for that of a webhook route has no route, unless a route before the
// webhook's takes both spellings, or a route names exactly this one.
class Router {
 public:
  explicit Router(const std::vector<config::RouteConfig>& routes);
  // Returns the index of the route; nullopt: there is none.
  std::optional<std::size_t> match(std::string_view path) const;

 private:
  struct Pattern {
    std::vector<std::string> segments;  // "{}" stands for any one segment
    bool prefix = false;
  };
  // A route, with its path as http::loose_path() reads it.
  struct Loose {
    bool is_webhook = false;
    bool is_literal = false;
    Pattern pattern;
  };
  bool passes_by_webhook(std::size_t found, std::string_view path) const;
  bool is_taken_for_webhook(std::size_t found, std::string_view loose) const;

  std::vector<Pattern> patterns_;
  std::vector<Loose> loose_;  // empty if there is no webhook
};

}  // namespace semel::runtime
