#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string_view>

#include "base/sha256.h"

namespace semel::base {

// An HMAC-SHA-256, fed piece by piece. Throws std::runtime_error only if OpenSSL has no
// HMAC-SHA-256 or no memory.
class HmacSha256 {
 public:
  explicit HmacSha256(std::string_view secret);
  HmacSha256& update(std::string_view bytes);
  // Ends the HMAC; the object must not be used afterwards.
  Sha256Digest finish();

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

Sha256Digest hmac_sha256(std::string_view secret, std::string_view bytes);

}  // namespace semel::base
