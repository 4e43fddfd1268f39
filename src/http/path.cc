#include "http/path.h"

#include <algorithm>
#include <vector>

#include "base/hex.h"

namespace semel::http {
namespace {

char loose(char c) {
  if (c == '\\') return '/';
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::vector<std::string_view> path_segments(std::string_view path) {
  std::vector<std::string_view> segments;
  std::size_t begin = 1;  // past the leading '/'
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    segments.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return segments;
}

// Decoded text may complete an escape before it, which is then decoded too.
std::string decode_fully(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (const char c : path) {
    out.push_back(c);
    while (out.size() >= 3 && out[out.size() - 3] == '%') {
      const int high = base::hex_value(out[out.size() - 2]);
      const int low = base::hex_value(out[out.size() - 1]);
      if (high < 0 || low < 0) break;
      out.resize(out.size() - 3);
      out.push_back(static_cast<char>(high * 16 + low));
    }
  }
  return out;
}

std::string loose_path(std::string_view path) {
  std::string decoded = decode_fully(path);
  decoded.resize(std::min(decoded.find_first_of(std::string_view("\0?#", 3)), decoded.size()));
  std::ranges::transform(decoded, decoded.begin(), loose);

  std::vector<std::string_view> kept;
  std::string_view rest = decoded;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    std::string_view segment = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    segment = segment.substr(0, segment.find(';'));
    const auto is_blank = [](char c) { return (c >= 0 && c <= ' ') || c == 0x7f; };
    while (!segment.empty() && is_blank(segment.back())) segment.remove_suffix(1);
    if (segment == "..") {
      if (!kept.empty()) kept.pop_back();
      continue;
    }
    while (!segment.empty() && (is_blank(segment.back()) || segment.back() == '.')) {
      segment.remove_suffix(1);
    }
    if (!segment.empty()) kept.push_back(segment);
  }
  std::string out;
  for (const std::string_view segment : kept) out.append("/").append(segment);
  return out.empty() ? "/" : out;
}

std::string_view without_extension(std::string_view loose) {
  const std::size_t slash = loose.rfind('/');
  const std::size_t dot = loose.rfind('.');
  const bool has_one =
      dot != std::string_view::npos && slash != std::string_view::npos && dot > slash + 1;
  return has_one ? loose.substr(0, dot) : loose;
}

}  // namespace semel::http
