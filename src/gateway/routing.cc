#include "gateway/routing.h"

#include <cctype>

namespace semel {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

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
  for (const RouteConfig& route : routes) {
    Pattern pattern;
    std::string_view path = route.path;
    if (path.ends_with("/*")) {
      pattern.prefix = true;
      path.remove_suffix(2);
    }
    if (!path.empty()) {
      for (const std::string_view segment : split(path)) {
        pattern.segments.emplace_back(segment.starts_with('{') ? "{}" : segment);
      }
    }
    patterns_.push_back(std::move(pattern));
  }
}

std::optional<std::size_t> Router::match(std::string_view path) const {
  if (!path.starts_with('/')) return std::nullopt;
  const std::vector<std::string_view> segments = split(path);
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const Pattern& pattern = patterns_[i];
    const std::size_t wanted = pattern.segments.size();
    if (pattern.prefix ? segments.size() <= wanted : segments.size() != wanted) continue;
    bool matches = true;
    for (std::size_t s = 0; s < wanted && matches; ++s) {
      const bool any = pattern.segments[s] == "{}" && !segments[s].empty();
      matches = any || pattern.segments[s] == segments[s];
    }
    if (matches) return i;
  }
  return std::nullopt;
}

}  // namespace semel
