#include "base/hmac.h"

#include <openssl/hmac.h>

#include <stdexcept>

namespace semel::base {

HmacSha256::HmacSha256(std::string_view secret) : context_(EVP_MD_CTX_new()) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, nullptr,
                                   reinterpret_cast<const unsigned char*>(secret.data()),
                                   secret.size()),
      EVP_PKEY_free);
  if (!key || !context_ ||
      EVP_DigestSignInit(context_.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1) {
    throw std::runtime_error("OpenSSL has no HMAC-SHA-256");
  }
}

HmacSha256& HmacSha256::update(std::string_view bytes) {
  if (EVP_DigestSignUpdate(context_.get(), bytes.data(), bytes.size()) != 1) {
    throw std::runtime_error("HMAC-SHA-256 failed");
  }
  return *this;
}

Sha256Digest HmacSha256::finish() {
  Sha256Digest digest{};
  std::size_t size = digest.size();
  if (EVP_DigestSignFinal(context_.get(), digest.data(), &size) != 1 || size != digest.size()) {
    throw std::runtime_error("HMAC-SHA-256 failed");
  }
  return digest;
}

// Computes the HMAC in a single call, since all bytes are in one piece.
Sha256Digest hmac_sha256(std::string_view secret, std::string_view bytes) {
  Sha256Digest digest{};
  unsigned int size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (!HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), data, bytes.size(),
            digest.data(), &size) ||
      size != digest.size()) {
    throw std::runtime_error("HMAC-SHA-256 failed");
  }
  return digest;
}

}  // namespace semel::base
