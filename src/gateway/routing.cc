#include "gateway/routing.h"

#include <algorithm>
#include <cctype>

#include "core/hex.h"
#include "gateway/loose_path.h"

namespace semel {
namespace {

bool is_unreserved(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

// nullopt: a bad percent escape.
std::optional<std::string> decode_unreserved(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      out.push_back(path[i]);
      continue;
    }
    if (i + 2 >= path.size()) return std::nullopt;
    const int high = hex_value(path[i + 1]);
    const int low = hex_value(path[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    const char c = static_cast<char>(high * 16 + low);
    if (is_unreserved(c)) {
      out.push_back(c);
    } else {
      static constexpr char kDigits[] = "0123456789ABCDEF";
      out.push_back('%');
      out.push_back(kDigits[high]);
      out.push_back(kDigits[low]);
    }
    i += 2;
  }
  return out;
}

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> segments;
  std::size_t begin = 1;  // past the leading '/'
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    segments.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return segments;
}

std::string resolve_segments(std::string_view path) {
  std::vector<std::string_view> kept;
  bool ends_in_slash = false;
  for (const std::string_view segment : split(path)) {
    ends_in_slash = segment.empty() || segment == "." || segment == "..";
    if (segment == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (!segment.empty() && segment != ".") {
      kept.push_back(segment);
    }
  }
  std::string out;
  for (const std::string_view segment : kept) {
    out.push_back('/');
    out.append(segment);
  }
  if (ends_in_slash || out.empty()) out.push_back('/');
  return out;
}

bool fits(const std::vector<std::string>& wanted, bool is_prefix,
          const std::vector<std::string_view>& segments) {
  if (is_prefix ? segments.size() < wanted.size() : segments.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool any = wanted[i] == "{}" && !segments[i].empty();
    if (!any && wanted[i] != segments[i]) return false;
  }
  return true;
}

bool needs_no_work(std::string_view path) {
  return path.find("//") == std::string_view::npos && path.find("/.") == std::string_view::npos &&
         path.find('%') == std::string_view::npos;
}

}  // namespace

std::optional<Target> parse_target(std::string_view target) {
  if (target == "*") return Target{"*", "", "*"};
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t slash = target.find_first_of("/?");
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
    break;
  }
  Target out;
  out.origin = target.starts_with('?') ? "/" + std::string(target) : std::string(target);
  if (!out.origin.starts_with('/') || out.origin.find('#') != std::string::npos) {
    return std::nullopt;
  }
  const std::size_t mark = out.origin.find('?');
  const std::string_view path = std::string_view(out.origin).substr(0, mark);
  if (mark != std::string::npos) out.query = out.origin.substr(mark + 1);
  if (needs_no_work(path)) {
    out.path = path;
    return out;
  }
  const auto decoded = decode_unreserved(path);
  if (!decoded) return std::nullopt;
  out.path = resolve_segments(*decoded);
  return out;
}

Router::Router(const std::vector<RouteConfig>& routes) {
  const auto pattern_of = [](std::string_view path) {
    Pattern pattern;
    if (path.ends_with("/*")) {
      pattern.prefix = true;
      path.remove_suffix(2);
    }
    if (path.empty()) return pattern;
    for (const std::string_view segment : split(path)) {
      pattern.segments.emplace_back(segment.starts_with('{') ? "{}" : segment);
    }
    return pattern;
  };
  for (const RouteConfig& route : routes) patterns_.push_back(pattern_of(route.path));
  const auto is_webhook = [](const RouteConfig& route) { return route.webhook.has_value(); };
  if (std::ranges::none_of(routes, is_webhook)) return;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const bool is_literal = routes[i].path.find_first_of("{*") == std::string::npos;
    loose_.push_back({.is_webhook = is_webhook(routes[i]),
                      .is_literal = is_literal,
                      .pattern = pattern_of(loose_path(routes[i].path))});
  }
}

std::optional<std::size_t> Router::match(std::string_view path) const {
  if (!path.starts_with('/')) return std::nullopt;
  const std::vector<std::string_view> segments = split(path);
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
  const std::string loose = loose_path(path);
  const std::string_view bare = without_extension(loose);
  return is_taken_for_webhook(found, loose) || (bare != loose && is_taken_for_webhook(found, bare));
}

bool Router::is_taken_for_webhook(std::size_t found, std::string_view loose) const {
  const std::vector<std::string_view> segments = split(loose);
  for (std::size_t i = 0; i < loose_.size(); ++i) {
    // /hooks is /hooks/ to some: here a prefix takes it too.
    const Pattern& pattern = loose_[i].pattern;
    if (!fits(pattern.segments, pattern.prefix, segments)) continue;
    if (i == found) return false;
    if (loose_[i].is_webhook) return true;
  }
  return false;
}

}  // namespace semel
