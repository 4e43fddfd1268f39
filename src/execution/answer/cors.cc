#include "execution/answer/cors.h"

#include <algorithm>
#include <string>

namespace semel::execution {
namespace {

// What Semel's own answers say in headers.
constexpr std::string_view kExposed =
    "Idempotency-Key, Idempotency-Expires, Link, Location, Retry-After, Semel-Record";

}  // namespace

std::vector<Header> cors_headers(std::string_view origin, const config::RouteConfig& route) {
  const config::CorsConfig& cors = route.cors;
  if (cors.origins.empty()) return {};
  const bool is_for_all = std::ranges::count(cors.origins, "*") > 0;
  std::vector<Header> headers;
  // A cache must not give one origin what another one got.
  if (!is_for_all) headers.push_back({"Vary", "Origin"});
  const bool is_listed = std::ranges::count(cors.origins, origin) > 0;
  if (origin.empty() || (!is_for_all && !is_listed)) return headers;
  headers.push_back({"Access-Control-Allow-Origin", std::string(is_for_all ? "*" : origin)});
  if (cors.credentials) headers.push_back({"Access-Control-Allow-Credentials", "true"});
  std::string exposed(kExposed);
  for (const std::string& name : cors.expose) exposed += ", " + name;
  headers.push_back({"Access-Control-Expose-Headers", std::move(exposed)});
  return headers;
}

}  // namespace semel::execution
