#pragma once

#include <functional>
#include <memory>
#include <string>

#include "consume/message.h"

namespace semel::consume {

// A queue of a broker. Delivers each message and keeps it ours (extending the broker's deadlines)
// until it is settled: by ack(), give_back() or a dead letter that was kept. The broker delivers a
// message again that is never settled.
//
// The broker's library runs on threads of the source. All calls but start() and stop() may be made
// from any thread and return at once.
class Source {
 public:
  struct Callbacks {
    // A message has come. No more than `prefetch` are delivered and not settled at any time.
    std::function<void(BrokerMessage)> delivered;
    // Messages that came by earlier connections can no longer be settled: the broker delivers them
    // again.
    std::function<void()> lost;
  };

  virtual ~Source() = default;

  // Connects, and connects again whenever the connection is lost. The callbacks are called on the
  // source's threads and must not block.
  virtual void start(Callbacks callbacks) = 0;

  // Returns whether the delivery can still be settled.
  virtual bool is_current(const DeliveryId& delivery) const = 0;

  // The message is done.
  virtual void ack(const DeliveryId& delivery) = 0;
  // The message is not done: the broker may deliver it again, to anybody.
  virtual void give_back(const DeliveryId& delivery) = 0;
  // Puts the message among the dead letters and, once the broker has it there for sure,
  // acknowledges it. `done(false)`: it is not there (or nobody knows), and the message is still
  // ours if it is current. `done` is called once, on a thread of the source.
  virtual void dead_letter(std::shared_ptr<const BrokerMessage> message, DeadLetter why,
                           std::function<void(bool)> done) = 0;

  // Delivers no more messages from now on.
  virtual void stop_fetching() = 0;
  // Settles what was asked for, closes, ends the threads. Calls no callback after that.
  virtual void stop() = 0;
};

}  // namespace semel::consume
