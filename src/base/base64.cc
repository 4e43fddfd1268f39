#include "base/base64.h"

#include <cstdint>

namespace semel::base {
namespace {

// The two alphabets differ in their last two characters only.
constexpr std::string_view kStandard = "+/";
constexpr std::string_view kUrl = "-_";

// Returns -1 for a character outside the alphabet.
int value_of(char c, std::string_view last_two) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == last_two[0]) return 62;
  if (c == last_two[1]) return 63;
  return -1;
}

char character_of(std::uint32_t value, std::string_view last_two) {
  constexpr std::string_view kCommon =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  return value < kCommon.size() ? kCommon[value] : last_two[value - kCommon.size()];
}

std::optional<std::string> decode(std::string_view text, std::string_view last_two) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  unsigned held = 0;  // number of bits in `bits` that are not written yet
  for (const char c : text) {
    const int value = value_of(c, last_two);
    if (value < 0) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out.push_back(static_cast<char>(bits >> held));
  }
  // The leftover bits must be zero, or one value would have several spellings.
  if ((bits & ((1u << held) - 1)) != 0) return std::nullopt;
  return out;
}

std::string encode(std::string_view bytes, std::string_view last_two) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<std::uint8_t>(c);
    for (held += 8; held >= 6;) {
      held -= 6;
      out.push_back(character_of((bits >> held) & 63, last_two));
    }
  }
  if (held > 0) out.push_back(character_of((bits << (6 - held)) & 63, last_two));
  return out;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  return decode(text, kStandard);
}

std::string encode_base64(std::string_view bytes) {
  std::string out = encode(bytes, kStandard);
  out.append((4 - out.size() % 4) % 4, '=');
  return out;
}

std::optional<std::string> decode_base64url(std::string_view text) {
  return decode(text, kUrl);
}

std::string encode_base64url(std::string_view bytes) {
  return encode(bytes, kUrl);
}

}  // namespace semel::base
