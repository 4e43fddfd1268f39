#pragma once

#include <string>
#include <string_view>

namespace semel {

// A Content-Type as far as it changes what a body means.
struct MediaType {
  std::string essence;  // "application/json": lower case, no parameters; empty: none was sent
  std::string charset;  // lower case; empty: none, or utf-8
};

MediaType parse_media_type(std::string_view content_type);

}  // namespace semel
