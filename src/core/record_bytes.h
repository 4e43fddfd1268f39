#pragma once

#include <string>
#include <string_view>

#include "base/hex.h"
#include "semel/driver/record.h"

namespace semel::core {

inline std::string_view bytes_of(const RecordId& id) {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}
inline std::string_view bytes_of(const Token& token) {
  return {reinterpret_cast<const char*>(token.bytes.data()), token.bytes.size()};
}

// The first digits of a record's id, as people see it in logs and lists: enough to search by.
inline constexpr std::size_t kShownIdBytes = 8;
inline std::string shown_id(const RecordId& id) {
  return base::encode_hex(bytes_of(id).substr(0, kShownIdBytes));
}

}  // namespace semel::core
