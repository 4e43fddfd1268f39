#pragma once

#include <openssl/types.h>

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The keys that tokens are verified with (RFC 7517), and the verifying itself.
//
// A key is good for one algorithm, which its type decides and never the token: a public key is
// never taken for a secret. If that were broken, anybody who knows the public key could name any
// tenant.
namespace semel {

enum class JwtAlgorithm { hs256, rs256, es256, eddsa };
// nullopt: another one, `none` among them.
std::optional<JwtAlgorithm> parse_jwt_algorithm(std::string_view name);

class JwtKeys {
 public:
  // A JSON Web Key Set. Keys of other types, for encryption, or for other algorithms are passed
  // over; a broken or weak one among the rest is an error, and so is a set without a usable key.
  // The error is the end of a sentence that begins with the file's name.
  static std::expected<JwtKeys, std::string> from_jwks(std::string_view json);
  // The bytes of a shared secret, for HS256 alone. A line end after them does not count.
  static std::expected<JwtKeys, std::string> from_secret(std::string_view bytes);

  // Whether a key of that algorithm made the signature over `signed_bytes`. With a `kid` only the
  // keys of that name are tried, and the shared secret, which has none.
  enum class Verdict { good, bad, no_such_key };
  Verdict verify(JwtAlgorithm algorithm, std::optional<std::string_view> kid,
                 std::string_view signed_bytes, std::string_view signature) const;

  std::size_t size() const { return keys_.size(); }
  // Whoever has read the keys could then sign tokens, too.
  bool has_secret() const;

 private:
  struct Key {
    JwtAlgorithm algorithm;
    std::string kid = {};
    bool any_kid = false;
    std::string secret = {};                    // hs256
    std::shared_ptr<EVP_PKEY> public_key = {};  // the others
  };
  friend class JwkReader;
  static bool is_signed_by(const Key& key, std::string_view signed_bytes,
                           std::string_view signature);

  std::vector<Key> keys_;
};

}  // namespace semel
