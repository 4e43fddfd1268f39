#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel {

// A Content-Type as far as it changes what a body means.
struct MediaType {
  std::string essence;  // "application/json": lower case, no parameters; empty: none was sent
  std::string charset;  // lower case; empty: none, or utf-8
};

// Of an essence.
bool is_json(std::string_view essence);

MediaType parse_media_type(std::string_view content_type);

// The first parameter of that name (lower case), unquoted; nullopt: there is none.
std::optional<std::string> media_type_parameter(std::string_view content_type,
                                                std::string_view name);

// Whether a Content-Encoding says that the body is not what its media type speaks of: there is a
// coding in it other than `identity`.
bool is_encoded(std::string_view content_encoding);

// The codings of a Content-Encoding, in lower case, each followed by a comma, without `identity`.
std::string canonical_codings(std::string_view content_encoding);

// A Content-Type in one spelling, with all that may change what a body means: its parameters but
// for the boundary of a multipart body, and but for charset=utf-8 where that is what its absence
// means (JSON and forms). One with a backslash or an open quote, which is read in different ways,
// counts byte for byte.
std::string canonical_media_type(std::string_view content_type);

// A value of the shape `word; name=value; …` in one spelling: the word and the names in lower case,
// the values unquoted, the parameters by name. Each piece is preceded by its length (varint).
std::string canonical_parameters(std::string_view value);
// The same, but a value with a backslash or an open quote counts byte for byte: some executors undo
// escapes ("a\b" is "ab") and some do not, as browsers never meant any.
std::string strict_parameters(std::string_view value);

}  // namespace semel
