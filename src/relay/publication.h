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

// A message on its way to a broker: handed to the broker's thread while somebody waits for the
// outcome.
class Publication : public std::enable_shared_from_this<Publication> {
 public:
  Publication(const boost::asio::any_io_executor& executor, std::shared_ptr<const Message> message,
              Envelope envelope)
      : message(std::move(message)), envelope(std::move(envelope)), timer_(executor) {}

  const std::shared_ptr<const Message> message;
  const Envelope envelope;

  // Says what became of the message. Only the first call counts. May be called from any thread.
  void settle(Outcome outcome);
  // True: nobody waits for it any more, so it must not be sent. May be called from any thread.
  bool is_abandoned() const { return abandoned_; }

  // Waits until it is settled or the time is over, which is a Retry. Call it on the executor's
  // thread.
  boost::asio::awaitable<Outcome> outcome(Duration timeout);

 private:
  boost::asio::steady_timer timer_;
  std::optional<Outcome> outcome_;  // used on the executor's thread only
  std::atomic<bool> abandoned_ = false;
};

// Publishes to one broker, on threads of its own.
//
// Settles every publication: Delivered when the broker has confirmed that it keeps the message,
// Retry when it has not or nobody knows. Those that wait for a connection that cannot be made are
// settled too. Abandoned ones are not sent.
class Publisher {
 public:
  virtual ~Publisher() = default;  // ends its threads, in bounded time
  // Returns at once. Messages are sent in the order of the calls. May be called from any thread.
  virtual void publish(std::shared_ptr<Publication> publication) = 0;
};

}  // namespace semel::relay
