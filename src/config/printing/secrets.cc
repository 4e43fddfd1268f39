#include "config/printing/secrets.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace semel::config::printing {
namespace {

constexpr std::string_view kSchemeEnd = "://";

// Returns the URL with its user part hidden as far as needed. The part ends at the last '@' of the
// URL: a password may contain anything, and so may one of several URLs in a list.
std::string hide_password(std::string_view url) {
  const std::size_t scheme = url.find(kSchemeEnd);
  const std::size_t at = url.rfind('@');
  if (scheme == std::string_view::npos || at == std::string_view::npos) return std::string(url);
  const std::size_t begin = scheme + kSchemeEnd.size();
  if (at < begin) return std::string(url);
  const std::size_t colon = url.substr(0, at).find(':', begin);
  const std::string_view scheme_name = url.substr(0, scheme);
  // NATS takes a token where others have the user's name.
  const bool user_is_token =
      colon == std::string_view::npos && (scheme_name == "nats" || scheme_name == "tls");
  if (colon == std::string_view::npos && !user_is_token) return std::string(url);
  const std::size_t hidden = user_is_token ? begin : colon + 1;
  return std::string(url.substr(0, hidden)) + std::string(kHidden) + std::string(url.substr(at));
}

bool is_secret_parameter(std::string_view name) {
  constexpr std::array<std::string_view, 7> kParts = {"passw", "secret", "token",     "key",
                                                      "sig",   "auth",   "credential"};
  const std::string lower = base::lower_case(name);
  return std::ranges::any_of(kParts, [&](std::string_view part) { return lower.contains(part); });
}

// Returns one name=value of a query.
std::string shown_parameter(std::string_view parameter) {
  const std::size_t equals = parameter.find('=');
  if (equals == std::string_view::npos) return std::string(parameter);
  const std::string_view name = parameter.substr(0, equals);
  const std::string_view value = parameter.substr(equals + 1);
  const bool is_placeholder = value.starts_with('{') && value.ends_with('}');
  if (value.empty() || is_placeholder || !is_secret_parameter(name)) return std::string(parameter);
  return std::string(name) + "=" + std::string(kHidden);
}

}  // namespace

std::string without_secrets(std::string_view url) {
  const std::string shown = hide_password(url);
  const std::size_t query = shown.find('?');
  if (query == std::string::npos) return shown;
  std::string out = shown.substr(0, query + 1);
  std::string_view rest = std::string_view(shown).substr(query + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    out += shown_parameter(rest.substr(0, end));
    if (end < rest.size()) out += '&';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

bool names_secret(std::string_view name) {
  // Kafka: the password of a key, and the key itself; their files are named …location.
  constexpr std::array<std::string_view, 9> kParts = {
      "passw", "secret", "token", "auth", "key", "credential", "signature", "cookie", "jaas"};
  const std::string lower = base::lower_case(name);
  if (lower.ends_with(".location")) return false;
  return std::ranges::any_of(kParts, [&](std::string_view part) { return lower.contains(part); });
}

}  // namespace semel::config::printing
