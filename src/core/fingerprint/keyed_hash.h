#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "semel/driver/fingerprint.h"

namespace semel::core {

// Keys for HMAC-SHA-256, by id. New hashes use the first key; the others are kept for hashes that
// were made with them.
//
//   file = *(line LF)
//   line = "" / "#" … / id SP 64 hexadecimal digits
//   id   = 1 to 64 letters, digits, "_", "." or "-"
struct HashKey {
  std::string id;
  std::string secret;
};
using HashKeys = std::vector<HashKey>;

// The error is a sentence for the operator and never shows a key.
std::expected<HashKeys, std::string> parse_hash_keys(std::string_view text);
const HashKey* find_hash_key(const HashKeys& keys, std::string_view id);

// Returns the fingerprint under a key: equal exactly if the plain ones are, and useless for
// guessing the request without the key.
Fingerprint keyed_fingerprint(const Fingerprint& plain, const HashKey& key);

// Returns 64 hexadecimal digits that stand for a key that must not be kept as text. `with` null:
// plain SHA-256.
std::string key_digest(std::string_view key, const HashKey* with);

}  // namespace semel::core
