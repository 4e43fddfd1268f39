#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "semel/driver/record.h"
#include "semel/time.h"

// Messages that a relay delivers, and the destinations that it delivers to, one class per
// technology.
namespace semel::relay {

struct Message {
  std::int64_t id = 0;
  std::string payload;
  std::expected<std::vector<Header>, std::string> headers;  // the error: why they cannot be read
  std::string key;   // derived; the same at every attempt, by whichever relay
  int attempts = 0;  // that failed before this one
  std::optional<std::string> ordering_key = {};
  Time enqueued_at{};
};

// Reads a message's headers as the outbox keeps them: a JSON object of texts. The error is a phrase
// for the operator.
std::expected<std::vector<Header>, std::string> read_headers(std::string_view json);

struct Delivered {};
// The message may have arrived all the same. Try again, not before `after` if that is given.
struct Retry {
  std::string why;
  std::optional<Duration> after = {};
};
// Trying again would not help: the message is a dead letter.
struct Refused {
  std::string why;
};
using Outcome = std::variant<Delivered, Retry, Refused>;

class Destination {
 public:
  virtual ~Destination() = default;
  // Any number may run at once, on the thread that runs the deliveries. Ends in bounded time. After
  // that nothing of the message is sent for the first time.
  virtual boost::asio::awaitable<Outcome> deliver(std::shared_ptr<const Message> message) = 0;
};

}  // namespace semel::relay
