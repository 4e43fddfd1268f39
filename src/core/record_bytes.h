#pragma once

#include <string_view>

#include "semel/driver/record.h"

namespace semel::core {

inline std::string_view bytes_of(const RecordId& id) {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}
inline std::string_view bytes_of(const Token& token) {
  return {reinterpret_cast<const char*>(token.bytes.data()), token.bytes.size()};
}

}  // namespace semel::core
