#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel::core {

// The parts of a Content-Type that change the meaning of a body.
struct MediaType {
  std::string essence;  // "application/json": lower case, no parameters; empty: none was sent
  std::string charset;  // lower case; empty: none, or utf-8
};

// Returns true for the essence of a JSON media type.
bool is_json(std::string_view essence);

MediaType parse_media_type(std::string_view content_type);

// Returns the first parameter with that name (lower case), unquoted; nullopt: there is none.
std::optional<std::string> media_type_parameter(std::string_view content_type,
                                                std::string_view name);

// Returns true if the Content-Encoding has a coding other than `identity`, so that the body is not
// what its media type describes.
bool is_encoded(std::string_view content_encoding);

// Returns the codings of a Content-Encoding in lower case, without `identity`, each followed by a
// comma.
std::string canonical_codings(std::string_view content_encoding);

// Returns a Content-Type in one spelling, with everything that may change the meaning of a body:
// all parameters except the boundary of a multipart body and except charset=utf-8 where that is the
// default (JSON and forms). A Content-Type with a backslash or an open quote has several readings,
// and counts byte for byte.
std::string canonical_media_type(std::string_view content_type);

// Returns a value like `word; name=value; …` in one spelling: the word and the names in lower case,
// the values unquoted, the parameters sorted by name. Each piece is preceded by its length
// (varint).
std::string canonical_parameters(std::string_view value);
// Like canonical_parameters(), but a value with a backslash or an open quote counts byte for byte:
// some executors undo escapes ("a\b" is "ab") and some do not, since browsers never mean any.
std::string strict_parameters(std::string_view value);

}  // namespace semel::core
