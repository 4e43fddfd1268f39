// Arbitrary bytes as a token, as a key set, and as the header and the claims of a token that is
// signed well. Checked besides memory safety: nothing that the secret did not sign is believed, and
// who is believed has a name.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "auth/jwt.h"
#include "base/base64.h"
#include "support/token_maker.h"

namespace {

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";
constexpr semel::Time kNow{std::chrono::seconds(1000)};

void require(bool holds) {
  if (!holds) std::abort();
}

void check_signed(const semel::auth::JwtKeys& keys, std::string_view header,
                  std::string_view claims) {
  semel::auth::JwtRules rules;
  const std::string token = semel::token_maker::hs256(kSecret, header, claims);
  const auto tenant = semel::auth::verify_jwt(keys, rules, token, kNow);
  if (!tenant) return;
  require(!tenant->empty());
  std::string other = token;
  other.back() = other.back() == 'A' ? 'Q' : 'A';
  require(!semel::auth::verify_jwt(keys, rules, other, kNow));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static const semel::auth::JwtKeys keys = semel::auth::JwtKeys::from_secret(kSecret).value();
  require(!semel::auth::verify_jwt(keys, {}, input, kNow));
  (void)semel::auth::JwtKeys::from_jwks(input);
  const std::size_t line = std::min(input.find('\n'), input.size());
  check_signed(keys, R"({"alg":"HS256"})", input);
  check_signed(keys, input.substr(0, line), input.substr(std::min(line + 1, input.size())));
  const auto decoded = semel::base::decode_base64url(input);
  if (decoded) require(semel::token_maker::base64url(*decoded) == input);
  return 0;
}
