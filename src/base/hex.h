#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel::base {

// Returns the value of a hexadecimal digit; -1: not a digit.
inline int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Decodes an even number of hexadecimal digits; nullopt: the text is anything else.
inline std::optional<std::string> decode_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
  }
  return out;
}

// Encodes each byte as two lower-case digits.
inline std::string encode_hex(std::string_view bytes) {
  static constexpr char kHexDigits[] = "0123456789abcdef";
  std::string out(2 * bytes.size(), '0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    out[2 * i] = kHexDigits[byte >> 4];
    out[2 * i + 1] = kHexDigits[byte & 15];
  }
  return out;
}

}  // namespace semel::base
