#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "relay/delivery.h"

// What goes with a payload, before a protocol says it in its own way. Pure functions.
namespace semel::relay {

struct Envelope {
  std::string content_type;
  std::vector<Header> attributes;  // of CloudEvents, by their bare names; none: not a CloudEvent
  std::vector<Header> headers;     // all others: the message's own, then the configured ones
};

// A message's headers `ce-…` are attributes of the event where the destination speaks CloudEvents;
// `id` is the derived key whatever they say. The error: the message cannot be sent, and why.
std::expected<Envelope, std::string> envelope_of(const Message& message,
                                                 const RelayDestination& config);

// An attribute's value as the header of HTTP and of NATS has it: anything but printable ASCII, and
// '%', '"' and ' ', as %XX.
std::string header_value_of(std::string_view attribute_value);

}  // namespace semel::relay
