#pragma once

#include <expected>
#include <optional>
#include <string>

#include "admin/access/tokens.h"
#include "config/config.h"
#include "http/message.h"

namespace semel::admin {

// Decides who may do what on the admin listener. Reading from this machine is free; everything else
// needs a named token in the Authorization header, which no web page can make a browser send
// unasked.
class AdminAccess {
 public:
  // On loopback, with no tokens: nothing can be changed.
  AdminAccess() = default;
  // Without a tokens file, generates one token beside the data. The memory store has no such place,
  // so nothing can be changed then. The error is a sentence for the operator.
  static std::expected<AdminAccess, std::string> open(const config::Config& config,
                                                      TokenSource& random);

  // Returns the answer that turns the request away, or nullopt. On a loopback listener the Host
  // must be one of this machine's names: a page from elsewhere whose name was made to resolve to
  // 127.0.0.1 has another one.
  std::optional<Answer> refuse(const http::Request& request, std::string_view path) const;

  // Returns the name that goes with the token of a request that changes something, or the answer
  // that refuses the request.
  std::expected<std::string, Answer> operator_of(const http::Request& request) const;
  // Returns the name that goes with the token of any request; nullopt: no known token came.
  std::optional<std::string> name_of(const http::Request& request) const;

 private:
  AdminAccess(AdminTokens tokens, config::HostPort listen);

  AdminTokens tokens_;
  std::string host_ = "127.0.0.1";
  bool loopback_ = true;
};

}  // namespace semel::admin
