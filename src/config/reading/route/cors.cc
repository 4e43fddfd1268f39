#include "config/reading/route/cors.h"

#include <algorithm>
#include <array>

namespace semel::config::reading {
namespace {

// A scheme and a host, with a port unless it is the scheme's own: exactly as browsers write it,
// because it is compared byte by byte.
bool is_origin(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos || scheme == 0) return false;
  const std::string_view host = text.substr(scheme + 3);
  const auto may_be_in_one = [](char c) { return c > ' ' && c < 0x7f && (c < 'A' || c > 'Z'); };
  return !host.empty() && host.find_first_of("/?#@,*") == std::string_view::npos &&
         std::ranges::all_of(text, may_be_in_one);
}

void read_origins(const Field& field, CorsConfig& out) {
  out.origins.clear();
  for (const Field& item : field.items()) {
    const std::optional<std::string> origin = item.text();
    if (!origin) continue;
    if (*origin != "*" && !is_origin(*origin)) {
      item.bad_value(
          "is not an origin as browsers send it; write https://app.example, in lower case, without "
          "a path, or '*' for every origin");
      continue;
    }
    out.origins.push_back(*origin);
  }
}

constexpr std::array kCorsKeys = std::to_array<Key<CorsConfig>>({
    {"origins", read_origins},
    {"expose", [](const Field& f, CorsConfig& out) { f.read_header_names(out.expose); }},
    {"credentials", [](const Field& f, CorsConfig& out) { f.read(out.credentials); }},
});

}  // namespace

void read_cors(const Field& field, CorsConfig& out) {
  read_mapping(field, kCorsKeys, out);
  if (out.credentials && std::ranges::count(out.origins, "*") > 0) {
    field.error("credentials: true needs the origins by name; browsers do not take '*' with them");
  }
}

}  // namespace semel::config::reading
