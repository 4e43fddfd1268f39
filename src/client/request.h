#pragma once

#include <string>
#include <string_view>

#include "client/wire/url.h"
#include "semel/client.h"

namespace semel::client {

// A request, checked, with its key. Throws Client::Error if it cannot be sent as it is.
struct Prepared {
  std::string method;
  Url url;
  std::vector<Header> headers;  // without Host, Content-Length and the key
  std::string body;
};
Prepared prepare(const ClientOptions& options, const Url& base, const ClientRequest& request);

// Returns the key as the value of a field: an RFC 9651 String, or bare. Throws Client::Error if it
// cannot be sent that way.
std::string key_field(const std::string& key, bool bare);

// Returns the head, up to and with the empty line. key: "" sends none.
std::string head_of(const Prepared& request, std::string_view target, std::string_view key_header,
                    std::string_view key);

// Returns the digest of what a name stands for: method, target and body.
std::string digest_of(const Prepared& request);

}  // namespace semel::client
