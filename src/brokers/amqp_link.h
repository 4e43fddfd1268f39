#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "brokers/amqp_library.h"
#include "config/config.h"

// Connections to RabbitMQ. A connection of rabbitmq-c is for one thread only, and its calls block.
namespace semel::brokers {

struct AmqpAddress {  // a parsed URL
  std::string host;
  int port = 0;
  std::string user;
  std::string password;
  std::string vhost;
  bool tls = false;
  std::string ca_file;  // "": the system's
};

// nullopt: not an AMQP URL.
std::optional<AmqpAddress> parse_amqp_address(const config::BrokerAddress& broker);

struct AmqpDestroy {
  void operator()(amqp_connection_state_t connection) const { amqp_destroy_connection(connection); }
};
using AmqpConnection = std::unique_ptr<amqp_connection_state_t_, AmqpDestroy>;

// Connects and logs in, in bounded time. With TLS, verifies the server's certificate and name. The
// error says what failed and why.
std::expected<AmqpConnection, std::string> connect(const AmqpAddress& address);

// Opens a channel on which the broker confirms published messages.
std::expected<void, std::string> open_confirming_channel(amqp_connection_state_t connection,
                                                         amqp_channel_t channel);

// Checks the result of a call. The error begins with `what`.
std::expected<void, std::string> check(int status, std::string_view what);
std::expected<void, std::string> check(const amqp_rpc_reply_t& reply, std::string_view what);

}  // namespace semel::brokers
