#include "core/fingerprint/keyed_hash.h"

#include <algorithm>
#include <stdexcept>

#include "base/hex.h"
#include "base/hmac.h"
#include "base/text.h"
#include "semel/driver/record.h"

namespace semel::core {
namespace {

constexpr std::size_t kIdLengthMax = 64;
constexpr std::size_t kSecretBytes = 32;

base::Sha256Digest hmac(const HashKey& key, std::string_view bytes) {
  return base::hmac_sha256(key.secret, bytes);
}

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kIdLengthMax && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

std::optional<std::string> parse_secret(std::string_view hex) {
  if (hex.size() != 2 * kSecretBytes) return std::nullopt;
  return base::decode_hex(hex);
}

// Includes the part's number, so that equal parts in two places do not look equal.
std::uint64_t keyed_part(const HashKey& key, std::size_t number, std::uint64_t part) {
  std::string bytes = "part";
  bytes.push_back(static_cast<char>(number));
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(part >> (8 * i)));
  return base::first_8_bytes(hmac(key, bytes));
}

}  // namespace

std::expected<HashKeys, std::string> parse_hash_keys(std::string_view text) {
  HashKeys keys;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = base::trim_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t space = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view id = line.substr(0, space);
    auto secret = parse_secret(base::trim_line(line.substr(space)));
    if (!is_id(id) || !secret) {
      return std::unexpected("line " + std::to_string(number) +
                             ": write an id, a space and 64 hexadecimal digits");
    }
    if (find_hash_key(keys, id)) {
      return std::unexpected("line " + std::to_string(number) + ": the id is listed twice");
    }
    keys.push_back({std::string(id), *std::move(secret)});
  }
  if (keys.empty()) return std::unexpected("it has no key");
  return keys;
}

const HashKey* find_hash_key(const HashKeys& keys, std::string_view id) {
  const auto found = std::ranges::find(keys, id, &HashKey::id);
  return found == keys.end() ? nullptr : &*found;
}

Fingerprint keyed_fingerprint(const Fingerprint& plain, const HashKey& key) {
  Fingerprint out;
  const auto* bytes = reinterpret_cast<const char*>(plain.digest.data());
  out.digest = hmac(key, "whole" + std::string(bytes, plain.digest.size()));
  for (std::size_t i = 0; i < plain.parts.size(); ++i) {
    out.parts.push_back(keyed_part(key, i, plain.parts[i]));
  }
  return out;
}

std::string key_digest(std::string_view key, const HashKey* with) {
  const std::string marked = "key" + std::string(key);
  return RecordId{with ? hmac(*with, marked) : base::sha256(key)}.hex();
}

}  // namespace semel::core
