#pragma once

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Makes tokens and the keys they are signed with, for tests of those who verify them.
namespace semel::token_maker {

inline std::string base64url(std::string_view bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  unsigned bits = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    for (count += 8; count >= 6;) out.push_back(kAlphabet[(bits >> (count -= 6)) & 63]);
  }
  if (count > 0) out.push_back(kAlphabet[(bits << (6 - count)) & 63]);
  return out;
}

inline std::string hmac(std::string_view secret, std::string_view bytes) {
  unsigned char out[32];
  unsigned length = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out, &length);
  return {reinterpret_cast<const char*>(out), length};
}

inline std::string hs256(std::string_view secret, std::string_view header,
                         std::string_view claims) {
  const std::string input = base64url(header) + "." + base64url(claims);
  return input + "." + base64url(hmac(secret, input));
}

// A key pair of one of the public algorithms.
class Signer {
 public:
  static Signer rsa(unsigned bits = 2048) {
    return Signer(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{bits}), "RS256");
  }
  static Signer p256() {
    return Signer(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), "ES256");
  }
  static Signer ed25519() {
    return Signer(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), "EdDSA");
  }

  const std::string& algorithm() const { return algorithm_; }

  // The public key; `more` is further members: ,"use":"sig"
  std::string jwk(std::string_view kid, std::string_view more = "") const {
    std::string out = "{\"kid\":\"" + std::string(kid) + "\"" + std::string(more);
    if (algorithm_ == "RS256") {
      out += ",\"kty\":\"RSA\",\"n\":\"" + number("n") + "\",\"e\":\"" + number("e") + "\"";
    } else if (algorithm_ == "ES256") {
      unsigned char point[65];
      std::size_t length = 0;
      EVP_PKEY_get_octet_string_param(key_.get(), OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, point,
                                      sizeof point, &length);
      const std::string_view view(reinterpret_cast<const char*>(point), sizeof point);
      out += ",\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" + base64url(view.substr(1, 32)) +
             "\",\"y\":\"" + base64url(view.substr(33)) + "\"";
    } else {
      unsigned char raw[32];
      std::size_t length = sizeof raw;
      EVP_PKEY_get_raw_public_key(key_.get(), raw, &length);
      out += ",\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" +
             base64url({reinterpret_cast<const char*>(raw), length}) + "\"";
    }
    return out + "}";
  }

  std::string token(std::string_view header, std::string_view claims) const {
    const std::string input = base64url(header) + "." + base64url(claims);
    return input + "." + base64url(sign(input));
  }
  std::string token(std::string_view claims) const {
    return token("{\"alg\":\"" + algorithm_ + "\"}", claims);
  }

 private:
  Signer(EVP_PKEY* key, std::string algorithm)
      : key_(key, EVP_PKEY_free), algorithm_(std::move(algorithm)) {}

  std::string number(const char* name) const {
    BIGNUM* found = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &found);
    std::string bytes(static_cast<std::size_t>(BN_num_bytes(found)), '\0');
    BN_bn2bin(found, reinterpret_cast<unsigned char*>(bytes.data()));
    BN_free(found);
    return base64url(bytes);
  }

  std::string sign(std::string_view input) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          EVP_MD_CTX_free);
    const EVP_MD* digest = algorithm_ == "EdDSA" ? nullptr : EVP_sha256();
    EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key_.get());
    const auto* bytes = reinterpret_cast<const unsigned char*>(input.data());
    std::size_t length = 0;
    EVP_DigestSign(context.get(), nullptr, &length, bytes, input.size());
    std::string out(length, '\0');
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &length, bytes,
                   input.size());
    out.resize(length);
    return algorithm_ == "ES256" ? side_by_side(out) : out;
  }

  static std::string side_by_side(const std::string& der) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
        d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())), ECDSA_SIG_free);
    std::string out(64, '\0');
    auto* to = reinterpret_cast<unsigned char*>(out.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), to, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), to + 32, 32);
    return out;
  }

  std::shared_ptr<EVP_PKEY> key_;
  std::string algorithm_;
};

inline std::string jwks(const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& key : keys) out += (out.empty() ? "" : ",") + key;
  return "{\"keys\":[" + out + "]}";
}

}  // namespace semel::token_maker
