#include "runtime/routing.h"

#include <algorithm>

#include "http/path.h"

namespace semel::runtime {
namespace {

bool fits(const std::vector<std::string>& wanted, bool is_prefix,
          const std::vector<std::string_view>& segments) {
  if (is_prefix ? segments.size() < wanted.size() : segments.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool any = wanted[i] == "{}" && !segments[i].empty();
    if (!any && wanted[i] != segments[i]) return false;
  }
  return true;
}

}  // namespace

Router::Router(const std::vector<config::RouteConfig>& routes) {
  const auto pattern_of = [](std::string_view path) {
    Pattern pattern;
    if (path.ends_with("/*")) {
      pattern.prefix = true;
      path.remove_suffix(2);
    }
    if (path.empty()) return pattern;
    for (const std::string_view segment : http::path_segments(path)) {
      pattern.segments.emplace_back(segment.starts_with('{') ? "{}" : segment);
    }
    return pattern;
  };
  for (const config::RouteConfig& route : routes) patterns_.push_back(pattern_of(route.path));
  const auto is_webhook = [](const config::RouteConfig& route) {
    return route.webhook.has_value();
  };
  if (std::ranges::none_of(routes, is_webhook)) return;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const bool is_literal = routes[i].path.find_first_of("{*") == std::string::npos;
    loose_.push_back({.is_webhook = is_webhook(routes[i]),
                      .is_literal = is_literal,
                      .pattern = pattern_of(http::loose_path(routes[i].path))});
  }
}

std::optional<std::size_t> Router::match(std::string_view path) const {
  if (!path.starts_with('/')) return std::nullopt;
  const std::vector<std::string_view> segments = http::path_segments(path);
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const Pattern& pattern = patterns_[i];
    if (pattern.prefix && segments.size() <= pattern.segments.size()) continue;
    if (!fits(pattern.segments, pattern.prefix, segments)) continue;
    if (!loose_.empty() && passes_by_webhook(i, path)) return std::nullopt;
    return i;
  }
  return std::nullopt;
}

bool Router::passes_by_webhook(std::size_t found, std::string_view path) const {
  if (loose_[found].is_webhook || loose_[found].is_literal) return false;
  const std::string loose = http::loose_path(path);
  const std::string_view bare = http::without_extension(loose);
  return is_taken_for_webhook(found, loose) || (bare != loose && is_taken_for_webhook(found, bare));
}

bool Router::is_taken_for_webhook(std::size_t found, std::string_view loose) const {
  const std::vector<std::string_view> segments = http::path_segments(loose);
  for (std::size_t i = 0; i < loose_.size(); ++i) {
    // Some services take /hooks for /hooks/, so here a prefix matches it, too.
    const Pattern& pattern = loose_[i].pattern;
    if (!fits(pattern.segments, pattern.prefix, segments)) continue;
    if (i == found) return false;
    if (loose_[i].is_webhook) return true;
  }
  return false;
}

}  // namespace semel::runtime
