#pragma once

#include <expected>
#include <optional>
#include <string>

#include "admin/tokens.h"
#include "config/config.h"
#include "http/message.h"

namespace semel {

// Who may do what on the admin listener. Reading from this machine is free; everything else needs a
// named token in the Authorization header, which no web page can make a browser send unasked.
class AdminAccess {
 public:
  // On loopback, with no tokens: nothing can be changed.
  AdminAccess() = default;
  // Without a tokens file one token is generated beside the data. The memory store has no such
  // place: nothing can be changed then. The error is a sentence for the operator.
  static std::expected<AdminAccess, std::string> open(const Config& config, TokenSource& random);

  // The answer that turns the request away, or nullopt. On a loopback listener the Host must be one
  // of this machine's names: a page from elsewhere whose name was bent to 127.0.0.1 has another.
  std::optional<Answer> refuse(const net::Request& request, std::string_view path) const;

  // For a request that changes something: the name that goes with its token.
  std::expected<std::string, Answer> operator_of(const net::Request& request) const;

 private:
  AdminAccess(AdminTokens tokens, HostPort listen);

  AdminTokens tokens_;
  std::string host_ = "127.0.0.1";
  bool loopback_ = true;
};

}  // namespace semel
