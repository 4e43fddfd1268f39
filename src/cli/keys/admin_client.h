#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

namespace semel::cli {

// How a command reaches the admin listener of a running gateway.
struct AdminOptions {
  std::string url;         // "": the configuration's, else http://127.0.0.1:9090
  std::string config;      // "": none
  std::string token_file;  // "": the configuration's, or the one generated beside its data
};

struct AdminReply {
  int status = 0;
  boost::json::value body;  // null, if it was not JSON
};

// Asks the admin listener, and waits for the answer. The errors are sentences for people.
class AdminClient {
 public:
  // Without a token the gateway lets nothing be changed, and says so itself. It is an error here
  // only if a token file was named and cannot be used.
  static std::expected<AdminClient, std::string> open(const AdminOptions& options);

  std::expected<AdminReply, std::string> get(const std::string& target) const;
  std::expected<AdminReply, std::string> post(const std::string& target,
                                              const boost::json::value& body) const;

 private:
  std::expected<AdminReply, std::string> ask(bool changes, const std::string& target,
                                             const std::string& body) const;

  std::string host_ = "127.0.0.1";
  std::uint16_t port_ = 9090;
  std::optional<std::string> token_;
};

}  // namespace semel::cli
