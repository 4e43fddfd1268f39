#pragma once

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "config/broker.h"
#include "config/reading/reader.h"

// The keys that say how to reach a broker, shared by `consume` and `relay`.
namespace semel::config::reading {

std::string_view to_string(BrokerKind kind);

void read_broker_url(const Field& field, BrokerAddress& out);
void read_broker_ca(const Field& field, BrokerAddress& out);
void read_broker_list(const Field& field, BrokerAddress& out);
// Reads properties of librdkafka. Refuses those that Semel sets itself.
void read_broker_properties(const Field& field, BrokerAddress& out);

// A key that one kind of broker has, and whether it needs it.
struct KeyOfBroker {
  BrokerKind kind;
  std::string_view name;
  bool required;
};

// Reports keys of the mapping that are missing or belong to another kind of broker, and a URL that
// is not of this kind.
void check_broker_keys(const Field& mapping, const BrokerAddress& broker,
                       std::span<const KeyOfBroker> keys);

}  // namespace semel::config::reading
