#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "semel/record.h"

// The record's encoding (docs/formats.md). Everything but `id` and `version`, which the store keeps
// beside it. An unknown format version or a flipped bit is an error, never a guess.
namespace semel {

std::string encode(const Record& record);

// `id` and `version` of the result are left for the caller to set.
std::expected<Record, std::string> decode(std::string_view bytes);

// The token under which the chunks of an encoded record lie; nullopt: its body is not spilled.
std::optional<Token> spilled_under(std::string_view encoding);

// What of a record is sealed where records are encrypted at rest: status, headers and body of the
// answer, and the queued request. Where the body lies stays in the clear.
bool has_content(const Record& record);
std::string encode_content(const Record& record);
// False: these bytes are not the content of a record.
bool decode_content(std::string_view bytes, Record& record);

}  // namespace semel
