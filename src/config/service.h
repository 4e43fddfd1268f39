#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/address.h"
#include "config/limits.h"
#include "semel/driver/operation.h"

namespace semel::config {

// The names that a client may use.
struct Allowed {
  bool all = false;  // "*"
  std::vector<std::string> names;
};

// A program that claims keys through the service API, and what it may claim.
struct ServiceClient {
  std::string name;
  std::string token_file;  // either this
  std::string token_env;   // or this: the name of a variable
  Allowed tenants;
  Allowed operations;
};

// The rules of an operation that is executed by clients of the service API.
struct ServiceOperation {
  std::string name;
  Operation operation;
  RouteLimits limits;
};

// Connections of the service API, over all workers.
inline constexpr std::size_t kServiceConnectionsMax = 1024;

// The service API: its listener, its clients and their operations.
struct ServiceConfig {
  HostPort listen{"127.0.0.1", 8090};
  std::size_t max_body = 1024 * 1024;  // of a payload, and of an answer
  std::vector<ServiceClient> clients;
  // Beside these, the clients' operations may be routes of the gateway.
  std::vector<ServiceOperation> operations;
};

}  // namespace semel::config
