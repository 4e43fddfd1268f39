#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "relay/delivery.h"

// Collects what goes with a payload, before a protocol expresses it in its own way. Pure functions.
namespace semel::relay {

struct Envelope {
  std::string content_type;
  std::vector<Header> attributes;  // of CloudEvents, by their bare names; empty: not a CloudEvent
  std::vector<Header> headers;     // all others: the message's own, then the configured ones
};

// If the destination speaks CloudEvents, a message's headers `ce-…` are attributes of the event,
// and `id` is the derived key whatever they say. The error: the message cannot be sent, and why.
std::expected<Envelope, std::string> envelope_of(const Message& message,
                                                 const config::RelayDestination& config);

// Returns an attribute's value as a header of HTTP or NATS has it: with anything but printable
// ASCII, and '%', '"' and ' ', as %XX.
std::string header_value_of(std::string_view attribute_value);

}  // namespace semel::relay
