#include "auth/jwt.h"

#include <simdjson.h>

#include <algorithm>
#include <optional>

#include "base/base64.h"

namespace semel::auth {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kTokenBytesMax = 16 * 1024;
constexpr std::size_t kTenantBytesMax = 1024;

using Refusal = std::unexpected<std::string>;

Refusal refuse(std::string_view why) {
  return Refusal(std::string(why));
}

struct Parts {
  std::string_view header;
  std::string_view payload;
  std::string_view signature;
  std::string_view signed_bytes;  // header.payload
};

std::optional<Parts> split(std::string_view token) {
  const std::size_t first = token.find('.');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return Parts{token.substr(0, first), token.substr(first + 1, second - first - 1),
               token.substr(second + 1), token.substr(0, second)};
}

// Owns the text that `object` refers to.
struct Json {
  dom::parser parser;
  dom::object object;

  // Returns false if the text is not an object in base64url, or has two members with the same name,
  // which two readers could understand differently.
  bool read(std::string_view encoded) {
    const auto text = base::decode_base64url(encoded);
    if (!text || parser.parse(*text).get(object)) return false;
    std::vector<std::string_view> names;
    for (const dom::key_value_pair member : object) names.push_back(member.key);
    std::ranges::sort(names);
    return std::ranges::adjacent_find(names) == names.end();
  }

  bool has(std::string_view name) const {
    dom::element found;
    return !object.at_key(name).get(found);
  }
  std::optional<std::string_view> text(std::string_view name) const {
    std::string_view found;
    if (object.at_key(name).get(found)) return std::nullopt;
    return found;
  }
  // Reads a NumericDate: seconds, possibly with a fraction.
  std::optional<double> seconds(std::string_view name) const {
    double found = 0;
    if (object.at_key(name).get(found)) return std::nullopt;
    return found;
  }
};

std::expected<void, std::string> check_times(const Json& claims, const JwtRules& rules, Time now) {
  const double now_s = std::chrono::duration<double>(now.time_since_epoch()).count();
  const double leeway_s = std::chrono::duration<double>(rules.leeway).count();
  const auto expires = claims.seconds("exp");
  if (!expires) return refuse("The token does not say when it expires.");
  if (!(now_s < *expires + leeway_s)) return refuse("The token has expired.");
  if (!claims.has("nbf")) return {};
  const auto not_before = claims.seconds("nbf");
  if (!not_before || !(*not_before <= now_s + leeway_s)) {
    return refuse("The token is not valid yet.");
  }
  return {};
}

bool names_audience(const Json& claims, const std::vector<std::string>& wanted) {
  const auto is_wanted = [&](std::string_view name) {
    return std::ranges::find(wanted, name) != wanted.end();
  };
  if (const auto one = claims.text("aud")) return is_wanted(*one);
  dom::array several;
  if (claims.object.at_key("aud").get(several)) return false;
  for (const dom::element entry : several) {
    std::string_view name;
    if (!entry.get(name) && is_wanted(name)) return true;
  }
  return false;
}

std::expected<std::string, std::string> find_claim(const Json& claims, const std::string& claim) {
  dom::element found;
  const bool missing = claim.starts_with('/') ? claims.object.at_pointer(claim).get(found)
                                              : claims.object.at_key(claim).get(found);
  std::string tenant;
  std::string_view text;
  std::int64_t number = 0;
  if (!missing && !found.get(text)) {
    tenant = text;
  } else if (!missing && !found.get(number)) {
    tenant = std::to_string(number);
  }
  if (tenant.empty() || tenant.size() > kTenantBytesMax) {
    return refuse("The token's claim " + claim + " does not name a caller.");
  }
  return tenant;
}

}  // namespace

std::expected<std::string, std::string> verify_jwt(const JwtKeys& keys, const JwtRules& rules,
                                                   std::string_view token, Time now) {
  const auto parts = token.size() <= kTokenBytesMax ? split(token) : std::nullopt;
  Json header;
  if (!parts || !header.read(parts->header)) return refuse("The token is not a signed JWT.");
  const auto signature = base::decode_base64url(parts->signature);
  const auto algorithm = parse_jwt_algorithm(header.text("alg").value_or(""));
  if (!algorithm || !signature || header.has("crit")) {
    return refuse("The token is not signed in a supported way.");
  }
  if (header.has("kid") && !header.text("kid")) return refuse("The token's kid is not a string.");
  switch (keys.verify(*algorithm, header.text("kid"), parts->signed_bytes, *signature)) {
    case JwtKeys::Verdict::no_such_key:
      return refuse("The token is not signed with a known key.");
    case JwtKeys::Verdict::bad:
      return refuse("The token's signature is wrong.");
    case JwtKeys::Verdict::good:
      break;
  }
  Json claims;
  if (!claims.read(parts->payload)) return refuse("The token's claims cannot be read.");
  if (auto timely = check_times(claims, rules, now); !timely) return Refusal(timely.error());
  if (!rules.issuer.empty() && claims.text("iss") != rules.issuer) {
    return refuse("The token comes from another issuer.");
  }
  if (!rules.audiences.empty() && !names_audience(claims, rules.audiences)) {
    return refuse("The token is for another audience.");
  }
  return find_claim(claims, rules.claim);
}

}  // namespace semel::auth
