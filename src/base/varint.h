#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// The building blocks of canonical forms: a list of these can be read back in one way only.
namespace semel {

// The number in groups of 7 bits, the lowest first.
inline void append_varint(std::uint64_t number, std::string& out) {
  while (number >= 0x80) {
    out.push_back(static_cast<char>(number | 0x80));
    number >>= 7;
  }
  out.push_back(static_cast<char>(number));
}

// The length as a varint, then the bytes.
inline void append_sized(std::string_view bytes, std::string& out) {
  append_varint(bytes.size(), out);
  out.append(bytes);
}

}  // namespace semel
