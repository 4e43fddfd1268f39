#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "config/service.h"

namespace semel::service {

// A program that may use the service API.
struct Client {
  std::string name;
  config::Allowed tenants;
  config::Allowed operations;
  base::Sha256Digest token;  // the digest of its bearer token

  bool may_use(std::string_view tenant, std::string_view operation) const;
};

// The clients with their tokens, as read at one time. Immutable.
class Clients {
 public:
  // Reads the tokens from their files and variables, so it may block. The error is a sentence for
  // the operator, and never shows a token.
  static std::expected<std::shared_ptr<const Clients>, std::string> load(
      const config::ServiceConfig& config);

  // Returns the client with this token; null: nobody has it. Takes the same time in either case.
  const Client* find(std::string_view token) const;

 private:
  std::vector<Client> clients_;
};

}  // namespace semel::service
