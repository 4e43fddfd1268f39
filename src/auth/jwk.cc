#include "auth/jwk.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/hmac.h"
#include "base/names.h"

namespace semel::auth {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kKeysMax = 256;
constexpr std::size_t kSecretBytesMin = 32;  // required by RFC 7518 for HS256
constexpr int kRsaBitsMin = 2048;
constexpr std::size_t kCoordinateBytes = 32;
constexpr std::size_t kEd25519Bytes = 32;
// Limits how many keys of its algorithm a token without a kid is tried with.
constexpr std::size_t kTriesMax = 16;

template <auto free_function>
struct Free {
  template <typename T>
  void operator()(T* pointer) const {
    free_function(pointer);
  }
};
template <typename T, auto free_function>
using Owned = std::unique_ptr<T, Free<free_function>>;

std::optional<std::string_view> text_member(const dom::object& object, const char* name) {
  std::string_view text;
  if (object.at_key(name).get(text)) return std::nullopt;
  return text;
}

std::optional<std::string> bytes_member(const dom::object& object, const char* name) {
  const auto text = text_member(object, name);
  if (!text || text->empty()) return std::nullopt;
  return base::decode_base64url(*text);
}

Owned<BIGNUM, BN_free> big_number(std::string_view big_endian) {
  return Owned<BIGNUM, BN_free>(
      BN_bin2bn(base::unsigned_bytes(big_endian), static_cast<int>(big_endian.size()), nullptr));
}

std::shared_ptr<EVP_PKEY> public_key(const char* type, OSSL_PARAM_BLD* build) {
  const Owned<OSSL_PARAM, OSSL_PARAM_free> parameters(OSSL_PARAM_BLD_to_param(build));
  const Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free> context(
      EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return nullptr;
  }
  return {key, EVP_PKEY_free};
}

std::shared_ptr<EVP_PKEY> rsa_key(std::string_view n, std::string_view e) {
  const auto modulus = big_number(n);
  const auto exponent = big_number(e);
  const Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> build(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  return public_key("RSA", build.get());
}

std::shared_ptr<EVP_PKEY> p256_key(std::string_view x, std::string_view y) {
  const std::string point = "\x04" + std::string(x) + std::string(y);
  const Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> build(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                   point.size());
  return public_key("EC", build.get());
}

std::shared_ptr<EVP_PKEY> ed25519_key(std::string_view x) {
  return {EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, base::unsigned_bytes(x), x.size()),
          EVP_PKEY_free};
}

bool is_hmac(std::string_view secret, std::string_view signed_bytes, std::string_view signature) {
  const base::Sha256Digest expected = base::hmac_sha256(secret, signed_bytes);
  return signature.size() == expected.size() &&
         CRYPTO_memcmp(signature.data(), expected.data(), expected.size()) == 0;
}

// Converts a signature to DER for OpenSSL; a JWS holds the two numbers side by side. Empty: not a
// signature.
std::string ecdsa_der(std::string_view signature) {
  if (signature.size() != 2 * kCoordinateBytes) return {};
  const Owned<ECDSA_SIG, ECDSA_SIG_free> pair(ECDSA_SIG_new());
  auto r = big_number(signature.substr(0, kCoordinateBytes));
  auto s = big_number(signature.substr(kCoordinateBytes));
  if (!pair || !r || !s || ECDSA_SIG_set0(pair.get(), r.release(), s.release()) != 1) return {};
  unsigned char* der = nullptr;
  const int length = i2d_ECDSA_SIG(pair.get(), &der);
  if (length <= 0) return {};
  std::string out(reinterpret_cast<const char*>(der), static_cast<std::size_t>(length));
  OPENSSL_free(der);
  return out;
}

bool is_public_signature(EVP_PKEY* key, const EVP_MD* digest, std::string_view signed_bytes,
                         std::string_view signature) {
  const Owned<EVP_MD_CTX, EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  return context && EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), base::unsigned_bytes(signature), signature.size(),
                          base::unsigned_bytes(signed_bytes), signed_bytes.size()) == 1;
}

constexpr auto kAlgorithmNames = base::names<JwtAlgorithm::eddsa>({
    {JwtAlgorithm::hs256, "HS256"},
    {JwtAlgorithm::rs256, "RS256"},
    {JwtAlgorithm::es256, "ES256"},
    {JwtAlgorithm::eddsa, "EdDSA"},
});

}  // namespace

// Reads one member of the set.
class JwkReader {
 public:
  explicit JwkReader(const dom::object& object) : object_(object) {}

  // Returns nullopt if the key is not for verifying tokens.
  std::expected<std::optional<JwtKeys::Key>, std::string> read() {
    const auto algorithm = find_algorithm();
    if (!algorithm || !is_for_signatures()) return std::nullopt;
    const auto named = text_member(object_, "alg");
    if (named && *named != kAlgorithmNames[*algorithm]) return std::nullopt;
    JwtKeys::Key key{.algorithm = *algorithm,
                     .kid = std::string(text_member(object_, "kid").value_or(""))};
    if (auto wrong = read_material(key)) {
      return std::unexpected("has a key" + (key.kid.empty() ? "" : " '" + key.kid + "'") +
                             " that " + *wrong);
    }
    return key;
  }

 private:
  std::optional<JwtAlgorithm> find_algorithm() const {
    const auto type = text_member(object_, "kty");
    const auto curve = text_member(object_, "crv");
    if (type == "oct") return JwtAlgorithm::hs256;
    if (type == "RSA") return JwtAlgorithm::rs256;
    if (type == "EC" && curve == "P-256") return JwtAlgorithm::es256;
    if (type == "OKP" && curve == "Ed25519") return JwtAlgorithm::eddsa;
    return std::nullopt;
  }

  bool is_for_signatures() const {
    const auto use = text_member(object_, "use");
    if (use && *use != "sig") return false;
    dom::array operations;
    if (object_.at_key("key_ops").get(operations)) return true;
    for (const dom::element operation : operations) {
      std::string_view name;
      if (!operation.get(name) && name == "verify") return true;
    }
    return false;
  }

  // Says what is wrong; nullopt: nothing.
  std::optional<std::string> read_material(JwtKeys::Key& key) const {
    if (key.algorithm == JwtAlgorithm::hs256) {
      auto secret = bytes_member(object_, "k");
      if (!secret || secret->size() < kSecretBytesMin) {
        return "is not a secret of at least 32 bytes";
      }
      key.secret = *std::move(secret);
      return std::nullopt;
    }
    key.public_key = read_public(key.algorithm);
    if (!key.public_key) return "cannot be used: its numbers are missing or wrong";
    if (key.algorithm == JwtAlgorithm::rs256 &&
        EVP_PKEY_get_bits(key.public_key.get()) < kRsaBitsMin) {
      return "is an RSA key of fewer than 2048 bits";
    }
    return std::nullopt;
  }

  std::shared_ptr<EVP_PKEY> read_public(JwtAlgorithm algorithm) const {
    if (algorithm == JwtAlgorithm::rs256) {
      const auto n = bytes_member(object_, "n");
      const auto e = bytes_member(object_, "e");
      return n && e ? rsa_key(*n, *e) : nullptr;
    }
    const auto x = bytes_member(object_, "x");
    if (algorithm == JwtAlgorithm::eddsa) {
      return x && x->size() == kEd25519Bytes ? ed25519_key(*x) : nullptr;
    }
    const auto y = bytes_member(object_, "y");
    const bool whole = x && y && x->size() == kCoordinateBytes && y->size() == kCoordinateBytes;
    return whole ? p256_key(*x, *y) : nullptr;
  }

  const dom::object& object_;
};

std::optional<JwtAlgorithm> parse_jwt_algorithm(std::string_view name) {
  for (const JwtAlgorithm algorithm :
       {JwtAlgorithm::hs256, JwtAlgorithm::rs256, JwtAlgorithm::es256, JwtAlgorithm::eddsa}) {
    if (name == kAlgorithmNames[algorithm]) return algorithm;
  }
  return std::nullopt;
}

std::expected<JwtKeys, std::string> JwtKeys::from_jwks(std::string_view json) {
  dom::parser parser;
  dom::element root;
  dom::array members;
  if (parser.parse(json.data(), json.size()).get(root) || root.at_key("keys").get(members)) {
    return std::unexpected("is not a JSON Web Key Set");
  }
  if (members.size() > kKeysMax) return std::unexpected("has more than 256 keys");
  JwtKeys keys;
  for (const dom::element member : members) {
    dom::object object;
    if (member.get(object)) return std::unexpected("has an entry that is not a key");
    auto key = JwkReader(object).read();
    if (!key) return std::unexpected(std::move(key.error()));
    if (*key) keys.keys_.push_back(**std::move(key));
  }
  if (keys.keys_.empty()) {
    return std::unexpected("has no key for HS256, RS256, ES256 or EdDSA");
  }
  return keys;
}

bool JwtKeys::has_secret() const {
  return std::ranges::any_of(keys_, [](const Key& key) { return !key.secret.empty(); });
}

std::expected<JwtKeys, std::string> JwtKeys::from_secret(std::string_view secret) {
  while (secret.ends_with('\n') || secret.ends_with('\r')) secret.remove_suffix(1);
  if (secret.contains("-----BEGIN ")) {
    return std::unexpected("is a PEM file; a public key is not a secret: put it into a jwks_file");
  }
  if (secret.size() < kSecretBytesMin) {
    return std::unexpected("is shorter than 32 bytes, which HS256 needs");
  }
  JwtKeys keys;
  keys.keys_.push_back({.algorithm = JwtAlgorithm::hs256,
                        .kid = {},
                        .any_kid = true,
                        .secret = std::string(secret)});
  return keys;
}

bool JwtKeys::is_signed_by(const Key& key, std::string_view signed_bytes,
                           std::string_view signature) {
  switch (key.algorithm) {
    case JwtAlgorithm::hs256:
      return is_hmac(key.secret, signed_bytes, signature);
    case JwtAlgorithm::rs256:
      return is_public_signature(key.public_key.get(), EVP_sha256(), signed_bytes, signature);
    case JwtAlgorithm::es256: {
      const std::string der = ecdsa_der(signature);
      return !der.empty() &&
             is_public_signature(key.public_key.get(), EVP_sha256(), signed_bytes, der);
    }
    case JwtAlgorithm::eddsa:
      return is_public_signature(key.public_key.get(), nullptr, signed_bytes, signature);
  }
  return false;
}

JwtKeys::Verdict JwtKeys::verify(JwtAlgorithm algorithm, std::optional<std::string_view> kid,
                                 std::string_view signed_bytes, std::string_view signature) const {
  std::size_t tries = 0;
  for (const Key& key : keys_) {
    if (key.algorithm != algorithm || (kid && !key.any_kid && key.kid != *kid)) continue;
    if (++tries > kTriesMax) break;
    if (is_signed_by(key, signed_bytes, signature)) return Verdict::good;
  }
  return tries > 0 ? Verdict::bad : Verdict::no_such_key;
}

}  // namespace semel::auth
