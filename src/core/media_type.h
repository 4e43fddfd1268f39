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

MediaType parse_media_type(std::string_view content_type);

// The first parameter of that name (lower case), unquoted; nullopt: there is none.
std::optional<std::string> media_type_parameter(std::string_view content_type,
                                                std::string_view name);

// Whether a Content-Encoding says that the body is not what its media type speaks of: there is a
// coding in it other than `identity`.
bool is_encoded(std::string_view content_encoding);

// A value of the shape `word; name=value; …` in one spelling: the word and the names in lower case,
// the values unquoted, the parameters by name. Each piece is preceded by its length (varint).
std::string canonical_parameters(std::string_view value);

}  // namespace semel
