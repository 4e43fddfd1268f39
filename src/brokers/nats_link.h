#pragma once

#include <nats/nats.h>

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "config/config.h"

// Connections to NATS, and owners of what its library hands out.
namespace semel::brokers {

template <typename T, void (*destroy)(T*)>
struct NatsDestroy {
  void operator()(T* value) const { destroy(value); }
};
using NatsOptions = std::unique_ptr<natsOptions, NatsDestroy<natsOptions, natsOptions_Destroy>>;
using NatsConnection =
    std::unique_ptr<natsConnection, NatsDestroy<natsConnection, natsConnection_Destroy>>;
using NatsSubscription =
    std::unique_ptr<natsSubscription, NatsDestroy<natsSubscription, natsSubscription_Destroy>>;
using NatsMessage = std::unique_ptr<natsMsg, NatsDestroy<natsMsg, natsMsg_Destroy>>;

// Says what failed, with the library's reasons.
std::unexpected<std::string> nats_failed(std::string_view what, natsStatus status);

// Returns options for a connection that is made again whenever it is lost. With tls://, verifies
// the server's certificate, and that it belongs to the URL's host. The server knows us by `name`.
std::expected<NatsOptions, std::string> nats_options(const config::BrokerAddress& broker,
                                                     const char* name);
// Blocks for a few seconds at most.
std::expected<NatsConnection, std::string> connect_nats(const NatsOptions& options);

}  // namespace semel::brokers
