#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>

#include "relay/delivery.h"
#include "relay/envelope.h"

namespace semel::relay {

// A message on its way to a broker: handed to the broker's thread, and awaited meanwhile.
class Publication : public std::enable_shared_from_this<Publication> {
 public:
  Publication(boost::asio::any_io_executor executor, std::shared_ptr<const Message> message,
              Envelope envelope)
      : message(std::move(message)), envelope(std::move(envelope)), timer_(std::move(executor)) {}

  const std::shared_ptr<const Message> message;
  const Envelope envelope;

  // From any thread: what became of it. The first word counts.
  void settle(Outcome outcome);
  // From any thread. Nobody waits for it any more: it is not to be sent.
  bool is_abandoned() const { return abandoned_; }

  // On the executor's thread: until it is settled, or the time is over, which is to be tried again.
  boost::asio::awaitable<Outcome> outcome(Duration timeout);

 private:
  boost::asio::steady_timer timer_;
  std::optional<Outcome> outcome_;  // of the executor's thread
  std::atomic<bool> abandoned_ = false;
};

// What publishes to one broker, on threads of its own.
//
// Each publication is settled: Delivered when the broker has confirmed that it keeps the message,
// Retry when it has not or nobody knows. Those that wait for a connection that cannot be made are
// settled too. What is abandoned is not sent.
class Publisher {
 public:
  virtual ~Publisher() = default;  // ends its threads, in bounded time
  // From any thread; returns at once. They are sent in the order of the calls.
  virtual void publish(std::shared_ptr<Publication> publication) = 0;
};

}  // namespace semel::relay
