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

std::string merge_slashes(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (const char c : path) {
    if (c != '/' || !out.ends_with('/')) out.push_back(c);
  }
  return out;
}

// "." and "..", also with a parameter (`..;x`), which some servers cut off first.
bool is_dot_segment(std::string_view segment) {
  segment = segment.substr(0, segment.find(';'));
  return segment == "." || segment == "..";
}

// By the most lenient reading there is, of slashes as well: `..%2F` and `%252e%252e` count.
bool leads_elsewhere(std::string_view path) {
  std::string decoded = decode_fully(path);
  std::ranges::replace(decoded, '\\', '/');
  return std::ranges::any_of(split(decoded), is_dot_segment);
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
         path.find_first_of("%\\") == std::string_view::npos;
}

bool is_visible_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

std::expected<std::string, std::string_view> normal_path(std::string_view path) {
  if (path.contains('\\')) return std::unexpected("a backslash in the path");
  const auto decoded = decode_unreserved(path);
  if (!decoded) return std::unexpected("a bad % escape");
  if (decoded->contains("%00")) return std::unexpected("a NUL in the path");
  if (leads_elsewhere(*decoded)) return std::unexpected("a dot segment in the path");
  return merge_slashes(*decoded);
}

}  // namespace

std::expected<Target, std::string_view> parse_target(std::string_view target) {
  if (target == "*") return Target{.path = "*", .query = "", .origin = "*", .authority = ""};
  if (!is_visible_ascii(target)) return std::unexpected("a byte that has to be escaped");
  Target out;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    out.authority = target.substr(0, target.find_first_of("/?#"));
    if (out.authority.empty()) return std::unexpected("no host");
    target.remove_prefix(out.authority.size());
    break;
  }
  if (target.contains('#')) return std::unexpected("a fragment");
  const std::size_t mark = target.find('?');
  std::string_view path = target.substr(0, mark);
  if (path.empty() && !out.authority.empty()) path = "/";
  if (!path.starts_with('/')) return std::unexpected("no path");
  if (needs_no_work(path)) {
    out.path = path;
  } else {
    auto normal = normal_path(path);
    if (!normal) return std::unexpected(normal.error());
    out.path = *std::move(normal);
  }
  out.origin = out.path;
  if (mark != std::string_view::npos) {
    out.query = target.substr(mark + 1);
    out.origin.append("?").append(out.query);
  }
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
