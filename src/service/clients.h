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

  // Reads them again. A client whose token cannot be read keeps the one it had in `before`, with
  // the rights that it has now; one that had none is left out. Returns what was wrong.
  struct Reloaded {
    std::shared_ptr<const Clients> clients;
    std::vector<std::string> problems;
  };
  static Reloaded reload(const config::ServiceConfig& config, const Clients& before);

  // Returns the client with this token; null: nobody has it. Takes the same time in either case.
  const Client* find(std::string_view token) const;

 private:
  const Client* find(const base::Sha256Digest& digest) const;
  // Adds a client. The error is a sentence, if another one has the token.
  std::expected<void, std::string> add(const config::ServiceClient& wanted,
                                       const base::Sha256Digest& token);

  std::vector<Client> clients_;
};

}  // namespace semel::service
