#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace semel::auth {

struct SealingKey {
  std::string id;
  std::array<std::uint8_t, 32> bytes{};
};

// The keys of a key file: the first seals, all of them unseal.
//
//   file = *(line LF)
//   line = id ":" base64 of 32 bytes | "#" comment | nothing
//   id   = 1*64( ALPHA | DIGIT | "-" | "_" | "." )
class SealingKeys {
 public:
  // The error is a sentence for the operator; it reveals nothing of a key but its id and line.
  static std::expected<SealingKeys, std::string> parse(std::string_view text);

  const SealingKey& for_writing() const { return keys_.front(); }
  // nullptr: no key has that id.
  const SealingKey* find(std::string_view id) const;

 private:
  std::vector<SealingKey> keys_;
};

// Drawn at random for every seal. Two seals with the same nonce under the same key would reveal
// both.
using SealNonce = std::array<std::uint8_t, 12>;

// Encrypts with AES-256-GCM; returns nonce, ciphertext and tag. `associated` is not included, and
// must be the same for unseal().
std::string seal(const SealingKey& key, const SealNonce& nonce, std::string_view associated,
                 std::string_view plain);

// nullopt: the bytes were changed, or were sealed with another key or other associated data.
std::optional<std::string> unseal(const SealingKey& key, std::string_view associated,
                                  std::string_view sealed);

}  // namespace semel::auth
