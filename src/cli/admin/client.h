#pragma once

#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "cli/admin/local.h"
#include "cli/admin/reply.h"
#include "config/config.h"

namespace semel::cli {

// How a command reaches the admin listener of a running gateway.
struct AdminOptions {
  std::string url;         // "": the configuration's, else http://127.0.0.1:9090
  std::string config;      // "": none
  std::string token_file;  // "": the configuration's, or the one generated beside its data
  std::chrono::minutes timeout{2};
};

// Asks the admin listener, and waits for the answer. If nobody listens there and the configuration
// names a store that this process can open, LocalAdmin answers from then on, and a line on standard
// error says so. The errors are sentences for people.
class AdminClient {
 public:
  // Without a token the gateway lets nothing be changed, and says so itself. It is an error here
  // only if a token file was named and cannot be used.
  static std::expected<AdminClient, std::string> open(const AdminOptions& options);

  std::expected<AdminReply, std::string> get(const std::string& target);
  std::expected<AdminReply, std::string> post(const std::string& target,
                                              const boost::json::value& body);

  // Returns the configuration that was named, unless a gateway was named as well.
  const std::optional<config::Config>& config() const { return config_; }

 private:
  std::expected<AdminReply, std::string> ask(bool changes, const std::string& target,
                                             const std::string& body);
  // Opens the store, because the gateway cannot be reached. The error says why neither is possible.
  std::expected<void, std::string> turn_to_store(const std::string& why_not_gateway);

  std::string host_ = "127.0.0.1";
  std::uint16_t port_ = 9090;
  std::optional<std::string> token_;
  std::optional<config::Config> config_;  // nullopt: only the listener may be asked
  std::unique_ptr<LocalAdmin> local_;     // null: the gateway is asked
  std::chrono::minutes timeout_{2};
};

}  // namespace semel::cli
