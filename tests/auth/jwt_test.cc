#include "auth/jwt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/token_maker.h"

namespace semel::auth {
namespace {

using ::testing::HasSubstr;
using token_maker::base64url;
using token_maker::hs256;
using token_maker::jwks;
using token_maker::Signer;

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";
constexpr std::string_view kHs256 = R"({"alg":"HS256","typ":"JWT"})";
constexpr std::string_view kClaims = R"({"sub":"alice","exp":2000})";
constexpr Time kNow{std::chrono::seconds(1000)};

JwtKeys secret_keys() {
  return JwtKeys::from_secret(kSecret).value();
}

JwtKeys keys_of(const std::vector<std::string>& keys) {
  auto read = JwtKeys::from_jwks(jwks(keys));
  EXPECT_TRUE(read) << read.error();
  return read.value();
}

JwtRules rules() {
  JwtRules out;
  out.leeway = Duration(0);
  return out;
}

std::string tenant(const JwtKeys& keys, std::string_view token, const JwtRules& by = rules(),
                   Time now = kNow) {
  auto found = verify_jwt(keys, by, token, now);
  return found ? *found : "refused: " + found.error();
}

std::string with_claims(std::string_view claims, const JwtRules& by = rules(), Time now = kNow) {
  return tenant(secret_keys(), hs256(kSecret, kHs256, claims), by, now);
}

TEST(Jwt, TheFirstExampleOfRfc7515Verifies) {
  const auto keys = JwtKeys::from_jwks(
      R"({"keys":[{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}]})");
  ASSERT_TRUE(keys) << keys.error();
  JwtRules by = rules();
  by.claim = "iss";
  by.issuer = "joe";
  EXPECT_EQ(
      tenant(*keys,
             "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTk"
             "zODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJ"
             "U1p1r_wW1gFWFOEjXk",
             by, Time(std::chrono::seconds(1'300'819'000))),
      "joe");
}

TEST(Jwt, EveryAlgorithmVerifiesWithItsKeyAndWithNoOther) {
  const std::vector<Signer> signers = {Signer::rsa(), Signer::p256(), Signer::ed25519()};
  for (const Signer& signer : signers) {
    const std::string token = signer.token(kClaims);
    EXPECT_EQ(tenant(keys_of({signer.jwk("a")}), token), "alice") << signer.algorithm();
    for (const Signer& other : {Signer::rsa(), Signer::p256(), Signer::ed25519()}) {
      EXPECT_THAT(tenant(keys_of({other.jwk("a")}), token), HasSubstr("refused"))
          << signer.algorithm() << " " << other.algorithm();
    }
    EXPECT_THAT(tenant(secret_keys(), token), HasSubstr("refused: The token is not signed with"));
  }
  EXPECT_EQ(with_claims(kClaims), "alice");
}

TEST(Jwt, APublicKeyIsNeverTakenForASecret) {
  const Signer rsa = Signer::rsa();
  const JwtKeys keys = keys_of({rsa.jwk("a")});
  // Signed by an attacker with whatever everybody knows of the public key.
  for (const std::string& known : {rsa.jwk("a"), jwks({rsa.jwk("a")}), std::string()}) {
    EXPECT_THAT(tenant(keys, hs256(known, R"({"alg":"HS256","kid":"a"})", kClaims)),
                HasSubstr("refused: The token is not signed with a known key"));
  }
  EXPECT_FALSE(
      JwtKeys::from_secret("-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A"));
}

TEST(Jwt, TheKeyDecidesTheAlgorithmNotTheToken) {
  const Signer rsa = Signer::rsa();
  const Signer ec = Signer::p256();
  const JwtKeys keys = keys_of({rsa.jwk("k"), ec.jwk("k")});
  EXPECT_EQ(tenant(keys, rsa.token(R"({"alg":"RS256","kid":"k"})", kClaims)), "alice");
  EXPECT_THAT(tenant(keys, rsa.token(R"({"alg":"ES256","kid":"k"})", kClaims)),
              HasSubstr("refused: The token's signature is wrong"));
}

TEST(Jwt, WhatIsNotSignedIsRefused) {
  const std::string body = "." + base64url(kClaims) + ".";
  for (const char* header :
       {R"({"alg":"none"})", R"({"alg":"None"})", R"({"alg":"NONE"})", R"({"alg":""})", R"({})",
        R"({"alg":null})", R"({"alg":"HS512"})", R"({"alg":["HS256"]})", R"({"alg":"hs256"})"}) {
    EXPECT_THAT(tenant(secret_keys(), base64url(header) + body), HasSubstr("refused")) << header;
    EXPECT_THAT(tenant(secret_keys(), hs256(kSecret, header, kClaims)), HasSubstr("refused"))
        << header;
  }
  EXPECT_THAT(tenant(secret_keys(), base64url(kHs256) + body), HasSubstr("signature is wrong"));
}

TEST(Jwt, AChangedTokenIsRefused) {
  const std::string token = hs256(kSecret, kHs256, kClaims);
  ASSERT_EQ(tenant(secret_keys(), token), "alice");
  for (std::size_t at = 0; at < token.size(); ++at) {
    std::string changed = token;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_THAT(tenant(secret_keys(), changed), HasSubstr("refused")) << at;
    EXPECT_THAT(tenant(secret_keys(), token.substr(0, at)), HasSubstr("refused")) << at;
  }
  const std::string other = hs256(kSecret, kHs256, R"({"sub":"mallory","exp":2000})");
  EXPECT_THAT(
      tenant(secret_keys(), other.substr(0, other.rfind('.')) + token.substr(token.rfind('.'))),
      HasSubstr("signature is wrong"));
}

TEST(Jwt, OtherFormsAreNoTokens) {
  const std::string token = hs256(kSecret, kHs256, kClaims);
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."), std::string("a.b"), token + ".",
        token + "=", "=" + token, token + " ", "x" + token, token + ".a.b",
        base64url("[]") + token.substr(token.find('.')), std::string(20'000, 'a')}) {
    EXPECT_THAT(tenant(secret_keys(), bad), HasSubstr("refused")) << bad.substr(0, 100);
  }
}

TEST(Jwt, AKidChoosesTheKey) {
  const Signer a = Signer::ed25519();
  const Signer b = Signer::ed25519();
  const JwtKeys keys = keys_of({a.jwk("a"), b.jwk("b")});
  EXPECT_EQ(tenant(keys, b.token(R"({"alg":"EdDSA","kid":"b"})", kClaims)), "alice");
  EXPECT_EQ(tenant(keys, b.token(kClaims)), "alice");  // without one, each is tried
  EXPECT_THAT(tenant(keys, b.token(R"({"alg":"EdDSA","kid":"a"})", kClaims)),
              HasSubstr("signature is wrong"));
  EXPECT_THAT(tenant(keys, b.token(R"({"alg":"EdDSA","kid":"c"})", kClaims)),
              HasSubstr("not signed with a known key"));
  EXPECT_THAT(tenant(keys, b.token(R"({"alg":"EdDSA","kid":7})", kClaims)), HasSubstr("refused"));
  // The shared secret has no name.
  EXPECT_EQ(tenant(secret_keys(), hs256(kSecret, R"({"alg":"HS256","kid":"x"})", kClaims)),
            "alice");
}

TEST(Jwt, WhatMustBeUnderstoodAndIsNotIsRefused) {
  EXPECT_THAT(tenant(secret_keys(),
                     hs256(kSecret, R"({"alg":"HS256","crit":["b64"],"b64":false})", kClaims)),
              HasSubstr("refused"));
}

TEST(Jwt, TwoClaimsOfOneNameAreRefused) {
  EXPECT_THAT(with_claims(R"({"sub":"alice","sub":"bob","exp":2000})"),
              HasSubstr("cannot be read"));
  EXPECT_THAT(tenant(secret_keys(), hs256(kSecret, R"({"alg":"HS256","alg":"none"})", kClaims)),
              HasSubstr("refused"));
}

TEST(Jwt, ItMustSayWhenItExpiresAndNotHaveDoneSo) {
  JwtRules lenient = rules();
  lenient.leeway = std::chrono::seconds(30);
  EXPECT_THAT(with_claims(R"({"sub":"a"})"), HasSubstr("does not say when it expires"));
  EXPECT_THAT(with_claims(R"({"sub":"a","exp":"2000"})"), HasSubstr("does not say when"));
  EXPECT_THAT(with_claims(R"({"sub":"a","exp":1000})"), HasSubstr("has expired"));
  EXPECT_EQ(with_claims(R"({"sub":"a","exp":1001})"), "a");
  EXPECT_EQ(with_claims(R"({"sub":"a","exp":1000.5})"), "a");
  EXPECT_EQ(with_claims(R"({"sub":"a","exp":971})", lenient), "a");
  EXPECT_THAT(with_claims(R"({"sub":"a","exp":970})", lenient), HasSubstr("has expired"));
  EXPECT_EQ(with_claims(R"({"sub":"a","exp":1e300})"), "a");
  EXPECT_THAT(with_claims(R"({"sub":"a","exp":-1e300})"), HasSubstr("has expired"));
}

TEST(Jwt, ItMustBeValidAlready) {
  JwtRules lenient = rules();
  lenient.leeway = std::chrono::seconds(30);
  EXPECT_EQ(with_claims(R"({"sub":"a","exp":2000,"nbf":1000})"), "a");
  EXPECT_THAT(with_claims(R"({"sub":"a","exp":2000,"nbf":1001})"), HasSubstr("not valid yet"));
  EXPECT_EQ(with_claims(R"({"sub":"a","exp":2000,"nbf":1030})", lenient), "a");
  EXPECT_THAT(with_claims(R"({"sub":"a","exp":2000,"nbf":1031})", lenient),
              HasSubstr("not valid yet"));
  EXPECT_THAT(with_claims(R"({"sub":"a","exp":2000,"nbf":"0"})"), HasSubstr("not valid yet"));
}

TEST(Jwt, TheIssuerMustBeTheOne) {
  JwtRules by = rules();
  by.issuer = "https://id.example";
  EXPECT_EQ(with_claims(R"({"sub":"a","exp":2000,"iss":"https://id.example"})", by), "a");
  for (const char* iss :
       {R"("https://id.example/")", R"("")", "null", R"(["https://id.example"])"}) {
    EXPECT_THAT(with_claims(R"({"sub":"a","exp":2000,"iss":)" + std::string(iss) + "}", by),
                HasSubstr("comes from another issuer"))
        << iss;
  }
  EXPECT_THAT(with_claims(kClaims, by), HasSubstr("comes from another issuer"));
}

TEST(Jwt, TheAudienceMustBeAmongThem) {
  JwtRules by = rules();
  by.audiences = {"payments", "refunds"};
  for (const char* aud : {R"("payments")", R"("refunds")", R"(["x","payments"])"}) {
    EXPECT_EQ(with_claims(R"({"sub":"a","exp":2000,"aud":)" + std::string(aud) + "}", by), "a");
  }
  for (const char* aud : {R"("x")", R"([])", R"([["payments"]])", R"({"payments":1})", "null"}) {
    EXPECT_THAT(with_claims(R"({"sub":"a","exp":2000,"aud":)" + std::string(aud) + "}", by),
                HasSubstr("for another audience"))
        << aud;
  }
  EXPECT_THAT(with_claims(kClaims, by), HasSubstr("for another audience"));
}

TEST(Jwt, AnyClaimCanNameTheTenant) {
  JwtRules by = rules();
  constexpr std::string_view kMany =
      R"({"exp":2000,"https://a.b/org":"o1","org":{"id":42,"a/b":"c"},"empty":"","no":false,"n":1.5})";
  const auto by_claim = [&](const char* claim) {
    by.claim = claim;
    return with_claims(kMany, by);
  };
  EXPECT_EQ(by_claim("https://a.b/org"), "o1");  // a name as it is: dots and slashes are part of it
  EXPECT_EQ(by_claim("/org/id"), "42");
  EXPECT_EQ(by_claim("/org/a~1b"), "c");
  for (const char* claim : {"sub", "empty", "no", "n", "org", "/org", "/org/x", "org.id"}) {
    EXPECT_THAT(by_claim(claim), HasSubstr("does not name a caller")) << claim;
  }
}

TEST(Jwk, KeysThatAreForSomethingElseArePassedOver) {
  const Signer a = Signer::ed25519();
  const JwtKeys keys = keys_of(
      {a.jwk("enc", R"(,"use":"enc")"), a.jwk("ops", R"(,"key_ops":["sign"])"),
       a.jwk("alg", R"(,"alg":"ES256")"), R"({"kty":"EC","crv":"P-521","kid":"p"})",
       R"({"kty":"new"})", a.jwk("good", R"(,"use":"sig","alg":"EdDSA","key_ops":["verify"])")});
  EXPECT_EQ(keys.size(), 1u);
  EXPECT_EQ(tenant(keys, a.token(R"({"alg":"EdDSA","kid":"good"})", kClaims)), "alice");
  EXPECT_THAT(tenant(keys, a.token(R"({"alg":"EdDSA","kid":"enc"})", kClaims)),
              HasSubstr("not signed with a known key"));
}

TEST(Jwk, ASetThatCannotBeUsedIsRefusedWithItsReason) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "is not a JSON Web Key Set"},
      {"[]", "is not a JSON Web Key Set"},
      {R"({"keys":{}})", "is not a JSON Web Key Set"},
      {jwks({}), "has no key for"},
      {jwks({"7"}), "has an entry that is not a key"},
      {jwks({Signer::ed25519().jwk("a", R"(,"use":"enc")")}), "has no key for"},
      {jwks({Signer::rsa(1024).jwk("weak")}), "key 'weak' that is an RSA key of fewer than 2048"},
      {jwks({R"({"kty":"oct","kid":"s","k":"c2hvcnQ"})"}), "not a secret of at least 32 bytes"},
      {jwks({R"({"kty":"RSA","kid":"r","n":"!","e":"AQAB"})"}), "numbers are missing or wrong"},
      {jwks({R"({"kty":"OKP","crv":"Ed25519","kid":"o","x":"AA"})"}), "missing or wrong"},
      {jwks({R"({"kty":"EC","crv":"P-256","kid":"e","x":")" + std::string(43, 'A') + R"(","y":")" +
             std::string(43, 'A') + R"("})"}),
       "missing or wrong"},  // not on the curve
  };
  for (const auto& [text, expected] : cases) {
    const auto keys = JwtKeys::from_jwks(text);
    ASSERT_FALSE(keys) << text;
    EXPECT_THAT(keys.error(), HasSubstr(expected)) << text;
  }
  EXPECT_FALSE(JwtKeys::from_secret("short\n"));
  EXPECT_TRUE(JwtKeys::from_secret(std::string(kSecret) + "\r\n"));
}

}  // namespace
}  // namespace semel::auth
