#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "semel/fingerprint.h"

namespace semel {

// The keys of HMAC-SHA-256 by their ids. The first is used for what is new; the others are there
// for what was made with them.
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

// The fingerprint under a key: equal exactly where the plain ones are, and of no use to somebody
// without the key who tries out what the request could have been.
Fingerprint keyed_fingerprint(const Fingerprint& plain, const HashKey& key);

// What stands for a key that is not to be kept as text: 64 hexadecimal digits. `with` null: plain
// SHA-256.
std::string key_digest(std::string_view key, const HashKey* with);

}  // namespace semel
