#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace semel::http {

// Returns the parts of a path between its slashes; the path begins with a slash.
std::vector<std::string_view> path_segments(std::string_view path);

// Decodes every escape, however often it was escaped.
std::string decode_fully(std::string_view path);

// Returns the path as the most lenient service might read it: every escape decoded, however often
// it was escaped; in lower case; backslashes as slashes; without dot segments, doubled and trailing
// slashes, parameters (`;v=1`), and dots and blanks at the end of a segment; cut off at a decoded
// NUL, `?` or `#`. Paths that a service may take for the same have the same loose path, but not the
// other way round. Takes linear time.
std::string loose_path(std::string_view path);

// Removes what may be read as the requested format: /a/b.json becomes /a/b.
std::string_view without_extension(std::string_view loose);

}  // namespace semel::http
