#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "semel/driver/codec.h"

// The parts of a record's encoding that are read or written without the rest of it.
namespace semel::core {

// Returns the token under which the chunks of an encoded record are stored; nullopt: its body is
// not spilled.
std::optional<Token> spilled_under(std::string_view encoding);

// The content of a record is the part that is sealed if records are encrypted at rest: status,
// headers and body of the answer, the queued request, and the described members. The location of
// the body stays in the clear.
bool has_content(const Record& record);
std::string encode_content(const Record& record);
// Returns false if the bytes are not the content of a record.
bool decode_content(std::string_view bytes, Record& record);

}  // namespace semel::core
