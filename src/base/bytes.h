#pragma once

#include <string_view>

namespace semel {

// As OpenSSL takes them.
inline const unsigned char* unsigned_bytes(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace semel
