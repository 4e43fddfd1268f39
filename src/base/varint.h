#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// The building blocks of canonical forms: a list of them has only one reading.
namespace semel::base {

// Appends the number in groups of 7 bits, lowest first.
inline void append_varint(std::uint64_t number, std::string& out) {
  while (number >= 0x80) {
    out.push_back(static_cast<char>(number | 0x80));
    number >>= 7;
  }
  out.push_back(static_cast<char>(number));
}

// Appends the length as a varint, then the bytes.
inline void append_sized(std::string_view bytes, std::string& out) {
  append_varint(bytes.size(), out);
  out.append(bytes);
}

}  // namespace semel::base
