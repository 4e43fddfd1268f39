#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The paths of routes: /v1/charges is exact, {id} is one segment, a trailing /* is a prefix.
namespace semel::config_file {

// nullopt, or what is wrong: the end of a sentence that begins with the path.
std::optional<std::string> path_error(std::string_view path);

// A path without errors, taken apart.
struct PathPattern {
  struct Segment {
    std::string text;
    bool is_any = false;  // {id}
    // Any segment matches like any other, whatever it is called.
    bool operator==(const Segment& other) const {
      return is_any == other.is_any && (is_any || text == other.text);
    }
  };
  std::vector<Segment> segments;
  bool is_prefix = false;
  bool operator==(const PathPattern&) const = default;
};
PathPattern parse_path(std::string_view path);

// True if every path that `later` matches is matched by `earlier` too.
bool covers(const PathPattern& earlier, const PathPattern& later);

}  // namespace semel::config_file
