#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "auth/jwk.h"
#include "semel/time.h"

namespace semel::auth {

// The conditions for believing a token, and the claim that names the tenant.
struct JwtRules {
  std::string claim = "sub";           // a member of the claims, or a JSON Pointer into them
  std::string issuer;                  // "": any
  std::vector<std::string> audiences;  // one of them must be named; empty: any
  Duration leeway = Duration(30'000);  // allowed difference between clocks
};

// Verifies a JWT in its compact form: a JWS of HS256, RS256, ES256 or EdDSA that has not expired.
// Returns the claim, or a sentence for the client that says why the token is refused.
//
// Pure; may be called from any thread. Refuses `alg: none`, any `crit`, an algorithm that is not
// the key's, and a token without `exp`.
std::expected<std::string, std::string> verify_jwt(const JwtKeys& keys, const JwtRules& rules,
                                                   std::string_view token, Time now);

}  // namespace semel::auth
