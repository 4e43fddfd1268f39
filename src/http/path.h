#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace semel {

// The parts of a path between its slashes; the path begins with one.
std::vector<std::string_view> path_segments(std::string_view path);

// Every escape decoded, however often it was escaped.
std::string decode_fully(std::string_view path);

// A path as the most lenient of services might read it: every escape decoded, however often it was
// escaped, in lower case, backslashes taken for slashes, dot segments, doubled and trailing
// slashes, parameters (`;v=1`), and dots and blanks at the end of a segment left out, cut where a
// decoded NUL,
// `?` or `#` would cut it. Paths that a service may take for the same have the same loose path; not
// the other way round. Linear in its length.
std::string loose_path(std::string_view path);

// The same without what may be taken for the format that is asked for: /a/b.json is /a/b.
std::string_view without_extension(std::string_view loose);

}  // namespace semel
