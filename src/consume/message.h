#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "semel/driver/record.h"

namespace semel::consume {

// One delivery of a message. It can be settled only on the connection that it came by.
struct DeliveryId {
  std::uint64_t connection = 0;
  std::uint64_t number = 0;
  bool operator==(const DeliveryId&) const = default;
};

struct BrokerMessage {
  DeliveryId delivery;
  std::string body;
  std::string content_type;
  std::vector<Header> properties;  // the broker's own: message_id, sequence, …
  std::vector<Header> headers;     // the publisher's
  bool redelivered = false;
};

// Why a message is put aside. The words of `reason` are in docs/consume.md: programs read them.
struct DeadLetter {
  std::string reason = {};
  std::string detail = {};     // a sentence
  std::string operation = {};  // that its id counts under
  std::string record = {};     // the record's id, if there is one
  std::uint32_t attempt = 0;
};

// Returns the headers that a dead letter carries besides the message itself.
std::vector<Header> headers_of(const DeadLetter& why);

}  // namespace semel::consume
