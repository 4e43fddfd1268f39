#pragma once

#include <string_view>
#include <vector>

namespace semel {

// The parts of a path between its slashes; the path begins with one.
std::vector<std::string_view> path_segments(std::string_view path);

}  // namespace semel
