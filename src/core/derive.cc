#include "semel/derive.h"

#include "core/sha256.h"

namespace semel {
namespace {

constexpr std::string_view kDomain = "semel derived key 1";

std::string base64url(const Sha256Digest& digest) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  std::uint32_t bits = 0;
  unsigned held = 0;  // how many of them are not written yet
  for (const std::uint8_t byte : digest) {
    bits = (bits << 8) | byte;
    held += 8;
    while (held >= 6) {
      held -= 6;
      out.push_back(kAlphabet[(bits >> held) & 63]);
    }
  }
  if (held > 0) out.push_back(kAlphabet[(bits << (6 - held)) & 63]);
  return out;
}

}  // namespace

std::string derive(const RecordId& record, std::string_view label) {
  Sha256 hash;
  hash.update_sized(kDomain)
      .update({reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size()})
      .update_sized(label);
  return base64url(hash.finish());
}

}  // namespace semel
