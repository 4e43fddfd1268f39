#include "config/reading/route/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "config/own_paths.h"
#include "config/reading/values.h"
#include "http/target.h"

namespace semel::config::reading {
namespace {

bool is_parameter(std::string_view segment) {
  return segment.starts_with('{') && segment.ends_with('}');
}

}  // namespace

std::optional<std::string> path_error(std::string_view path) {
  if (!path.starts_with('/')) return "must begin with '/'";
  if (path == "/.semel" || path.starts_with(kReservedPath)) return "is reserved for Semel itself";
  if (!is_printable(path) || path.find_first_of(" ?#\\") != std::string_view::npos) {
    return "must be a plain path, without spaces, '?' or '#'";
  }
  std::string_view rest = path;
  if (rest.ends_with("/*")) rest.remove_suffix(2);
  if (rest.contains('*')) return "may have '*' only at its end, as '/*'";
  for (const auto part : std::views::split(rest, '/')) {
    const std::string_view segment(part);
    if (segment.find_first_of("{}") != std::string_view::npos &&
        !(is_parameter(segment) && is_name(segment.substr(1, segment.size() - 2)))) {
      return "may have {name} only as a whole segment, with a name of letters, digits and '_'";
    }
  }
  // A route that is spelled differently from normalised requests never matches.
  const auto target = http::parse_target(path);
  if (!target) return fmt::format("has {}", target.error());
  if (target->path != path) return fmt::format("never matches; write '{}'", target->path);
  return std::nullopt;
}

PathPattern parse_path(std::string_view path) {
  PathPattern pattern;
  pattern.is_prefix = path.ends_with("/*");
  if (pattern.is_prefix) path.remove_suffix(2);
  for (const auto part : std::views::split(path, '/')) {
    const std::string_view segment(part);
    pattern.segments.push_back({std::string(segment), is_parameter(segment)});
  }
  return pattern;
}

bool covers(const PathPattern& earlier, const PathPattern& later) {
  const std::size_t count = earlier.segments.size();
  if (earlier.is_prefix) {
    // The prefix needs something after it: /v1/* does not match /v1.
    if (later.segments.size() + (later.is_prefix ? 1 : 0) <= count) return false;
  } else if (later.is_prefix || later.segments.size() != count) {
    return false;
  }
  return std::ranges::equal(earlier.segments, later.segments | std::views::take(count),
                            [](const PathPattern::Segment& a, const PathPattern::Segment& b) {
                              return a == b || (a.is_any && !b.text.empty());
                            });
}

}  // namespace semel::config::reading
