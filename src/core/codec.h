#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "semel/record.h"

// Encodes a record (docs/formats.md): everything but `id` and `version`, which the store keeps
// beside it. An unknown format version or a flipped bit is an error, never a guess.
namespace semel {

std::string encode(const Record& record);

// The caller sets `id` and `version` of the result.
std::expected<Record, std::string> decode(std::string_view bytes);

// Returns the token under which the chunks of an encoded record are stored; nullopt: its body is
// not spilled.
std::optional<Token> spilled_under(std::string_view encoding);

// The content of a record is the part that is sealed if records are encrypted at rest: status,
// headers and body of the answer, and the queued request. The location of the body stays in the
// clear.
bool has_content(const Record& record);
std::string encode_content(const Record& record);
// Returns false if the bytes are not the content of a record.
bool decode_content(std::string_view bytes, Record& record);

}  // namespace semel
