#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/evp.h>

namespace semel {

// What a Content-Digest field (RFC 9530) says of a body, and whether the body agrees. sha-256 and
// sha-512 are understood; where both stand there, both must agree.
class ContentDigest {
 public:
  // The field's value, repeats joined by ", ". nullopt: it names no algorithm that is understood.
  // The error is a sentence for the client: what it says cannot be read.
  static std::expected<std::optional<ContentDigest>, std::string> parse(std::string_view field);

  void update(std::string_view piece);
  // True: the body that was fed is the one the field speaks of. Ends the digest.
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

}  // namespace semel
