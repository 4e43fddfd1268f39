#include "brokers/nats_link.h"

#include "brokers/system_certificates.h"

namespace semel::brokers {
namespace {

constexpr std::int64_t kReconnectWaitMs = 250;
constexpr int kReconnectForever = -1;
// A server that does not read would hold up whoever writes, and everybody who asks about the
// connection.
constexpr std::int64_t kWriteDeadlineMs = 5000;

// The library itself checks that the certificate is for the host that it connects to.
natsStatus secure(natsOptions* options, const config::BrokerAddress& broker) {
  natsStatus status = natsOptions_SetSecure(options, true);
  const char* ca = broker.ca_file.empty() ? kSystemCertificates : broker.ca_file.c_str();
  if (status == NATS_OK) status = natsOptions_LoadCATrustedCertificates(options, ca);
  return status;
}

}  // namespace

std::unexpected<std::string> nats_failed(std::string_view what, natsStatus status) {
  std::string why = std::string(what) + ": " + natsStatus_GetText(status);
  const char* detail = nats_GetLastError(nullptr);
  if (detail && *detail) why.append(" (").append(detail).append(")");
  return std::unexpected(std::move(why));
}

std::expected<NatsOptions, std::string> nats_options(const config::BrokerAddress& broker,
                                                     const char* name) {
  natsOptions* made = nullptr;
  natsStatus status = natsOptions_Create(&made);
  if (status != NATS_OK) return nats_failed("no options", status);
  NatsOptions options(made);
  status = natsOptions_SetURL(made, broker.url.c_str());
  if (status == NATS_OK) status = natsOptions_SetName(made, name);
  if (status == NATS_OK) status = natsOptions_SetMaxReconnect(made, kReconnectForever);
  if (status == NATS_OK) status = natsOptions_SetReconnectWait(made, kReconnectWaitMs);
  if (status == NATS_OK) status = natsOptions_SetWriteDeadline(made, kWriteDeadlineMs);
  if (status == NATS_OK && broker.url.starts_with("tls://")) status = secure(made, broker);
  if (status != NATS_OK) return nats_failed("cannot be configured", status);
  return options;
}

std::expected<NatsConnection, std::string> connect_nats(const NatsOptions& options) {
  natsConnection* connection = nullptr;
  const natsStatus status = natsConnection_Connect(&connection, options.get());
  if (status != NATS_OK) return nats_failed("cannot connect", status);
  return NatsConnection(connection);
}

}  // namespace semel::brokers
