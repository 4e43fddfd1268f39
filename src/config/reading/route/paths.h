#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The paths of routes: /v1/charges is exact, {id} is one segment, a trailing /* is a prefix.
namespace semel::config::reading {

// Returns what is wrong, as the end of a sentence that begins with the path; nullopt: nothing.
std::optional<std::string> path_error(std::string_view path);

// A path without errors, split into segments.
struct PathPattern {
  struct Segment {
    std::string text;
    bool is_any = false;  // {id}
    // Two parameters are equal, whatever their names.
    bool operator==(const Segment& other) const {
      return is_any == other.is_any && (is_any || text == other.text);
    }
  };
  std::vector<Segment> segments;
  bool is_prefix = false;
  bool operator==(const PathPattern&) const = default;
};
PathPattern parse_path(std::string_view path);

// Returns whether `earlier` matches every path that `later` matches.
bool covers(const PathPattern& earlier, const PathPattern& later);

}  // namespace semel::config::reading
