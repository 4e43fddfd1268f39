#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include <openssl/evp.h>

namespace semel::base {

using Sha256Digest = std::array<std::uint8_t, 32>;

// A SHA-256, fed piece by piece. Cheap to create: contexts are cached per thread and reused. Any
// number may be alive at once. Throws std::runtime_error only if OpenSSL has no SHA-256 or no
// memory.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  Sha256& update(std::string_view bytes);
  // Hashes the length as u32 little-endian, then the bytes: a list hashed this way has only one
  // reading.
  Sha256& update_sized(std::string_view bytes);
  Sha256& update_u32(std::uint32_t number);

  // Ends the digest; the object must not be used afterwards.
  Sha256Digest finish();

 private:
  struct FreeContext {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;
  struct IdleContexts;
  static IdleContexts& idle_contexts();

  Context context_;
};

Sha256Digest sha256(std::string_view bytes);

// Reads the first 8 bytes as a little-endian number.
std::uint64_t first_8_bytes(const Sha256Digest& digest);

}  // namespace semel::base
