#pragma once

#include <openssl/types.h>

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Keys for verifying tokens (RFC 7517), and the verification itself.
//
// A key is good for one algorithm, decided by the key's type and never by the token: a public key
// is never taken for a secret. If that were broken, anybody who knows the public key could name any
// tenant.
namespace semel::auth {

enum class JwtAlgorithm { hs256, rs256, es256, eddsa };
// nullopt: any other name, including `none`.
std::optional<JwtAlgorithm> parse_jwt_algorithm(std::string_view name);

class JwtKeys {
 public:
  // Reads a JSON Web Key Set. Skips keys of other types, for encryption, or for other algorithms; a
  // broken or weak key among the rest is an error, and so is a set without a usable key. The error
  // is the end of a sentence that begins with the file's name.
  static std::expected<JwtKeys, std::string> from_jwks(std::string_view json);
  // Takes the bytes of a shared secret, for HS256 only. Ignores a line end after them.
  static std::expected<JwtKeys, std::string> from_secret(std::string_view bytes);

  // Says whether a key of that algorithm made the signature over `signed_bytes`. With a `kid`,
  // tries only the keys with that id, and the shared secret, which has none.
  enum class Verdict { good, bad, no_such_key };
  Verdict verify(JwtAlgorithm algorithm, std::optional<std::string_view> kid,
                 std::string_view signed_bytes, std::string_view signature) const;

  std::size_t size() const { return keys_.size(); }
  // Returns true if anybody who has read the keys could also sign tokens.
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

}  // namespace semel::auth
