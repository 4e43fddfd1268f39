#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <variant>

#include "consume/message_handler.h"
#include "consume/message_metrics.h"
#include "consume/sources/source.h"
#include "runtime/worker.h"
#include "semel/driver/engine.h"

namespace semel::consume {

// Takes the messages of one source to their handler, once per id: the record decides, as for a
// request with a key. A message is acknowledged when the record says completed, and not before.
//
// Lives on one worker; everything but the constructor, start() and stop() is called there.
class QueueConsumer {
 public:
  QueueConsumer(runtime::Worker& worker, runtime::Route route, config::ConsumeConfig config,
                std::unique_ptr<Source> source, std::unique_ptr<MessageHandler> handler);
  // Call it when the worker runs no longer.
  ~QueueConsumer();

  // Begins to take messages, on the worker.
  void start();
  // Takes no more messages, and gives back those that have not begun. Those that run are finished:
  // they count among the gateway's active requests.
  void drain();
  // Settles what was decided and closes. Call it when the worker runs no longer, or before it is
  // destroyed.
  void stop() { source_->stop(); }

 private:
  // A message that is held here, and what has been tried with it.
  struct Item {
    std::shared_ptr<const BrokerMessage> message;
    std::string key;
    runtime::Counted active;  // counts as a request of the gateway, so that draining waits for it
    runtime::Counted bytes;   // counted among the gateway's buffered_bytes
    MessageMetrics::Held held;
    std::uint32_t tries = 0;  // number of executions by this process
    // Set if it is a dead letter that the broker would not take yet: it must not be executed again.
    std::optional<DeadLetter> dead = std::nullopt;
    std::uint32_t looks = 0;  // fruitless, in a row: at a store out of reach, at a broker, …
  };
  // The next step for a message.
  struct Done {};
  struct Dead {
    DeadLetter why;
  };
  struct Again {
    Duration after;
  };
  struct AfterOther {  // somebody else executes it
    RecordId id;
    Token token;
  };
  using Next = std::variant<Done, Dead, Again, AfterOther>;

  void arrived(BrokerMessage message);
  void give_back(const DeliveryId& delivery);
  void enqueue(Item item);
  void pump();
  MessageHandler::Slot take_slot();
  boost::asio::awaitable<void> run(Item item, MessageHandler::Slot slot);
  // Asks the record, and executes the message if it says so.
  boost::asio::awaitable<Next> step(Item& item, MessageHandler::Slot slot);
  Call call_for(const Item& item) const;
  // Decides what to do about a message that is not executed now.
  Next next_after(Item& item, const Admission& admission);
  boost::asio::awaitable<Fingerprint> fingerprint_under(
      std::shared_ptr<const BrokerMessage> message, Recipe recipe) const;
  boost::asio::awaitable<Next> execute(Item& item, EngineClaim claim, MessageHandler::Slot slot);
  // Decides by the record what to do next, after an execution.
  Next judge(Item& item, const Record& record);
  Next retry_later(Item& item, const Record& record, std::string_view reason);
  boost::asio::awaitable<void> conclude(Item item, Next next);
  // Tells the operator, if the configuration says whom.
  void notify_dead(const Item& item, const DeadLetter& why);
  // True: the broker has the message among the dead letters.
  boost::asio::awaitable<bool> put_aside(std::shared_ptr<const BrokerMessage> message,
                                         DeadLetter why);
  // Waits for that long, or until everything is woken.
  boost::asio::awaitable<void> pause(Duration duration);
  void wake_all();
  Duration pause_after(std::uint32_t count) const;

  runtime::Worker& worker_;
  runtime::Services& services_;
  const runtime::Route route_;
  const config::ConsumeConfig config_;
  const std::unique_ptr<Source> source_;
  const std::unique_ptr<MessageHandler> handler_;
  MessageMetrics metrics_;
  bool draining_ = false;
  std::deque<Item> ready_;
  // The places of `in_flight`. A place may be released after this object is gone.
  struct Slots {
    std::size_t taken = 0;
    std::function<void()> freed;
  };
  const std::shared_ptr<Slots> slots_ = std::make_shared<Slots>();
  std::list<boost::asio::steady_timer> pauses_;
};

}  // namespace semel::consume
