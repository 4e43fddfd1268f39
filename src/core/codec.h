#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "semel/record.h"

// The record's encoding (docs/formats.md). Everything but `id` and `version`, which the store keeps
// beside it. An unknown format version or a flipped bit is an error, never a guess.
namespace semel {

std::string encode(const Record& record);

// `id` and `version` of the result are left for the caller to set.
std::expected<Record, std::string> decode(std::string_view bytes);

}  // namespace semel
