#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

// Where Redis is, according to the configuration.
namespace semel::stores {

struct RedisAddress {
  std::string host;  // a name or an address, IPv6 without brackets
  std::uint16_t port = 6379;
  auto operator<=>(const RedisAddress&) const = default;
  std::string text() const;
};

// redis://[[user]:password@]host[:port][/database], or rediss:// for TLS. User and password may be
// percent-encoded.
struct RedisUrl {
  bool tls = false;
  std::string user;
  std::string password;
  RedisAddress address;
  unsigned database = 0;
};
// The error ends a sentence that begins with the key's name; it never holds the password.
std::expected<RedisUrl, std::string> parse_redis_url(std::string_view text);
// host[:port]
std::expected<RedisAddress, std::string> parse_redis_address(std::string_view text,
                                                             std::uint16_t default_port);

struct RedisConfig {
  // With Sentinels or a Cluster its host is not used.
  std::string url = "redis://127.0.0.1";
  std::size_t replicas = 0;  // that must have a write before it counts
  std::string ca;            // PEM file, for rediss://; "": the system's
  std::string sentinel_master;
  std::string sentinel_password;
  std::vector<RedisAddress> sentinels;  // not empty: they name the server
  std::vector<RedisAddress> cluster;    // not empty: some members of a Cluster
  bool operator==(const RedisConfig&) const = default;
};

}  // namespace semel::stores
