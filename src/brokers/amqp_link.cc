#include "brokers/amqp_link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "brokers/amqp_text.h"
#include "brokers/system_certificates.h"

namespace semel::brokers {
namespace {

constexpr int kHeartbeatSeconds = 20;
constexpr int kFrameBytesMax = 131'072;
constexpr timeval kConnectTimeout{5, 0};
// A broker that is short of memory or disk stops reading from publishers, and the library would
// wait in a write for as long as that lasts: after this time, the connection is given up instead.
constexpr unsigned kUnreadTimeoutMs = 10'000;
constexpr timeval kRpcTimeout{10, 0};

}  // namespace

std::optional<AmqpAddress> parse_amqp_address(const config::BrokerAddress& broker) {
  std::string url = broker.url;  // parsed in place
  amqp_connection_info info{};
  amqp_default_connection_info(&info);
  if (amqp_parse_url(url.data(), &info) != AMQP_STATUS_OK) return std::nullopt;
  return AmqpAddress{info.host,  info.port,     info.user,     info.password,
                     info.vhost, info.ssl != 0, broker.ca_file};
}

std::expected<void, std::string> check(int status, std::string_view what) {
  if (status == AMQP_STATUS_OK) return {};
  return std::unexpected(std::string(what) + ": " + amqp_error_string2(status));
}

std::expected<void, std::string> check(const amqp_rpc_reply_t& reply, std::string_view what) {
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return {};
  return std::unexpected(std::string(what) + ": " + describe(reply));
}

std::expected<AmqpConnection, std::string> connect(const AmqpAddress& address) {
  AmqpConnection connection(amqp_new_connection());
  amqp_set_handshake_timeout(connection.get(), &kRpcTimeout);
  amqp_set_rpc_timeout(connection.get(), &kRpcTimeout);
  amqp_socket_t* socket = nullptr;
  if (address.tls) {
    socket = amqp_ssl_socket_new(connection.get());
    const char* ca = address.ca_file.empty() ? kSystemCertificates : address.ca_file.c_str();
    auto loaded = check(amqp_ssl_socket_set_cacert(socket, ca), "ca");
    if (!loaded) return std::unexpected(loaded.error());
    amqp_ssl_socket_set_verify_peer(socket, 1);
    amqp_ssl_socket_set_verify_hostname(socket, 1);
  } else {
    socket = amqp_tcp_socket_new(connection.get());
  }
  auto worked =
      check(amqp_socket_open_noblock(socket, address.host.c_str(), address.port, &kConnectTimeout),
            "cannot connect");
  if (!worked) return std::unexpected(worked.error());
  const int descriptor = amqp_get_sockfd(connection.get());
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnreadTimeoutMs, sizeof kUnreadTimeoutMs);
  worked = check(
      amqp_login(connection.get(), address.vhost.c_str(), 0, kFrameBytesMax, kHeartbeatSeconds,
                 AMQP_SASL_METHOD_PLAIN, address.user.c_str(), address.password.c_str()),
      "cannot log in");
  if (!worked) return std::unexpected(worked.error());
  return connection;
}

std::expected<void, std::string> open_confirming_channel(amqp_connection_state_t connection,
                                                         amqp_channel_t channel) {
  amqp_channel_open(connection, channel);
  auto worked = check(amqp_get_rpc_reply(connection), "cannot open a channel");
  if (!worked) return worked;
  amqp_confirm_select(connection, channel);
  return check(amqp_get_rpc_reply(connection), "no publisher confirms");
}

}  // namespace semel::brokers
