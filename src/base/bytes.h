#pragma once

#include <string_view>

namespace semel::base {

// Casts to the pointer type that OpenSSL takes.
inline const unsigned char* unsigned_bytes(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace semel::base
