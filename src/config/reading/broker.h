#pragma once

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "config/broker.h"
#include "config/reading/reader.h"

// The keys that say how a broker is reached: the same for what is consumed and what is delivered.
namespace semel::config_file {

std::string_view to_string(BrokerKind kind);

void read_broker_url(const Field& field, BrokerAddress& out);
void read_broker_ca(const Field& field, BrokerAddress& out);
void read_broker_list(const Field& field, BrokerAddress& out);
// Of librdkafka. Those that Semel sets itself are refused.
void read_broker_properties(const Field& field, BrokerAddress& out);

// What one kind of broker needs, and what the others have no use for.
struct KeyOfBroker {
  BrokerKind kind;
  std::string_view name;
  bool required;
};

// Complains of keys of the mapping that are missing, or that belong to another kind of broker, and
// of a URL that is none of this kind.
void check_broker_keys(const Field& mapping, const BrokerAddress& broker,
                       std::span<const KeyOfBroker> keys);

}  // namespace semel::config_file
