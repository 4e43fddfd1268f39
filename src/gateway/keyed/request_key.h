#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "config/config.h"
#include "http/message.h"

namespace semel::gateway {

// The key of a request, as the client sent it in a header.
namespace found_key {
struct None {};
struct Key {
  std::string key;
};
struct Bad {
  std::string why;  // a sentence for the client
};
}  // namespace found_key
using FoundKey = std::variant<found_key::None, found_key::Key, found_key::Bad>;

// Looks at the configured header and its aliases. Repeated headers and aliases that disagree are
// Bad.
FoundKey key_from_headers(const config::KeyConfig& config, const http::Request& request);
bool has_key_header(const config::KeyConfig& config, const http::Request& request);

// Returns the string at a JSON Pointer in the body, whatever its media type says. None: the body is
// empty, or JSON with nothing there. Bad: something else is there, or nobody can tell (json_find.h,
// or a Content-Encoding): taking that for "no key" would execute every retry.
FoundKey key_from_body(const config::KeyConfig& config, std::string_view content_encoding,
                       std::string_view body);

}  // namespace semel::gateway
