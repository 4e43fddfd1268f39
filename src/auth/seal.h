#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace semel {

struct SealingKey {
  std::string id;
  std::array<std::uint8_t, 32> bytes{};
};

// The keys of a key file: the first one is written with, all are read with.
//
//   file = *(line LF)
//   line = id ":" base64 of 32 bytes | "#" comment | nothing
//   id   = 1*64( ALPHA | DIGIT | "-" | "_" | "." )
class SealingKeys {
 public:
  // The error is a sentence for the operator; it says nothing of a key but its id and line.
  static std::expected<SealingKeys, std::string> parse(std::string_view text);

  const SealingKey& for_writing() const { return keys_.front(); }
  // nullptr: there is none of that id.
  const SealingKey* find(std::string_view id) const;

 private:
  std::vector<SealingKey> keys_;
};

// Drawn at random for every seal. Two seals with one nonce under one key would give both away.
using SealNonce = std::array<std::uint8_t, 12>;

// AES-256-GCM: nonce, ciphertext, tag. `associated` is not in it, and must be the same to open it.
std::string seal(const SealingKey& key, const SealNonce& nonce, std::string_view associated,
                 std::string_view plain);

// nullopt: it was changed, or sealed with another key or for something else.
std::optional<std::string> unseal(const SealingKey& key, std::string_view associated,
                                  std::string_view sealed);

}  // namespace semel
