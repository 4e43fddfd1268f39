#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/evp.h>

namespace semel::core {

// Checks a body against its Content-Digest field (RFC 9530). Understands sha-256 and sha-512; if
// the field names both, both must match.
class ContentDigest {
 public:
  // Parses the field's value, repeated fields joined by ", ". nullopt: it names no algorithm that
  // is understood. The error, a sentence for the client, means that the field is malformed.
  static std::expected<std::optional<ContentDigest>, std::string> parse(std::string_view field);

  void update(std::string_view piece);
  // Returns true if the body that was fed is the one that the field describes. Ends the digest.
  bool matches();

 private:
  struct FreeContext {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  struct Algorithm {
    std::string expected;  // empty: the field does not name it
    std::unique_ptr<EVP_MD_CTX, FreeContext> context;

    void begin(const EVP_MD* type, std::string digest);
    bool agrees();
  };

  Algorithm sha256_;
  Algorithm sha512_;
};

}  // namespace semel::core
