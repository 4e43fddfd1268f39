#include "http/target.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/hex.h"
#include "http/path.h"

namespace semel::http {
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
    const int high = base::hex_value(path[i + 1]);
    const int low = base::hex_value(path[i + 2]);
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

std::string merge_slashes(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (const char c : path) {
    if (c != '/' || !out.ends_with('/')) out.push_back(c);
  }
  return out;
}

// Matches "." and "..", also with a parameter (`..;x`), which some servers cut off first.
bool is_dot_segment(std::string_view segment) {
  segment = segment.substr(0, segment.find(';'));
  return segment == "." || segment == "..";
}

// Uses the most lenient reading there is, also of slashes: `..%2F` and `%252e%252e` count.
bool leads_elsewhere(std::string_view path) {
  std::string decoded = decode_fully(path);
  std::ranges::replace(decoded, '\\', '/');
  return std::ranges::any_of(path_segments(decoded), is_dot_segment);
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

}  // namespace semel::http
