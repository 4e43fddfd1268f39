#include "base/utf8.h"

#include <algorithm>

#include "base/hex.h"

namespace semel::base {
namespace {

// The first byte of a character determines its length. The limits on the second byte exclude
// overlong forms, surrogates and code points beyond U+10FFFF (RFC 3629, section 4).
struct Form {
  unsigned char first_min;
  unsigned char first_max;
  unsigned char second_min;
  unsigned char second_max;
  std::size_t length;
};
constexpr Form kForms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                           {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
                           {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                           {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

bool is_between(char c, unsigned char min, unsigned char max) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= min && byte <= max;
}

// Returns the length of the first character of `text`, which is not empty; 0: not UTF-8.
std::size_t character_length(std::string_view text) {
  if (is_between(text[0], 0x00, 0x7f)) return 1;
  const auto* form = std::ranges::find_if(
      kForms, [&](const Form& f) { return is_between(text[0], f.first_min, f.first_max); });
  if (form == std::end(kForms) || text.size() < form->length) return 0;
  if (!is_between(text[1], form->second_min, form->second_max)) return 0;
  const std::string_view rest = text.substr(2, form->length - 2);
  const bool continues =
      std::ranges::all_of(rest, [](char c) { return is_between(c, 0x80, 0xbf); });
  return continues ? form->length : 0;
}

}  // namespace

std::string printable_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length > 0) {
      out += text.substr(0, length);
    } else {
      out += "\\x";
      out += encode_hex(text.substr(0, 1));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace semel::base
