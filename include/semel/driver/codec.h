#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "semel/driver/record.h"

// Turns a record into the bytes that a store keeps (docs/formats.md), and back:
//
//   const std::string bytes = encode(record);
//   auto found = decode(bytes);
//   if (!found) return std::unexpected(StoreUnavailable{found.error(), .unreadable = true});
namespace semel {

// Encodes everything but `id` and `version`, which the store keeps beside it.
std::string encode(const Record& record);

// The caller sets `id` and `version` of the result. An unknown format version or a flipped bit is
// an error, never a guess.
std::expected<Record, std::string> decode(std::string_view bytes);

}  // namespace semel
