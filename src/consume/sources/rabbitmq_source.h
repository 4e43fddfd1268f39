#pragma once

#include <atomic>
#include <expected>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "brokers/amqp_library.h"
#include "brokers/amqp_link.h"
#include "brokers/commands.h"
#include "config/consume.h"
#include "consume/sources/source.h"

namespace semel {

// A queue of RabbitMQ, over one connection with two channels: one to consume, one to publish dead
// letters with confirms. A connection of rabbitmq-c is for one thread, so everything is done on
// that thread.
class RabbitmqSource final : public Source {
 public:
  static std::expected<std::unique_ptr<Source>, std::string> make(const ConsumeConfig& config);
  ~RabbitmqSource() override;

  void start(Callbacks callbacks) override;
  bool is_current(const DeliveryId& delivery) const override {
    return delivery.connection == connection_number_;
  }
  void ack(const DeliveryId& delivery) override;
  void give_back(const DeliveryId& delivery) override;
  void dead_letter(std::shared_ptr<const Message> message, DeadLetter why,
                   std::function<void(bool)> done) override;
  void stop_fetching() override;
  void stop() override;

 private:
  struct Command {
    enum class Kind { ack, give_back, dead_letter } kind = Kind::ack;
    DeliveryId delivery;
    std::shared_ptr<const Message> message = nullptr;
    DeadLetter why = {};
    std::function<void(bool)> done = nullptr;
  };
  struct EnvelopeFree {
    void operator()(amqp_envelope_t* envelope) const {
      amqp_destroy_envelope(envelope);
      delete envelope;
    }
  };
  // The broker's description of a message, without the body, which the Message has.
  using Envelope = std::unique_ptr<amqp_envelope_t, EnvelopeFree>;
  // A dead letter on its way.
  struct Published {
    std::uint64_t delivery_number = 0;
    std::function<void(bool)> done;
    bool returned = false;  // there is no queue for it
  };
  // The connection cannot be used any longer, and why.
  using Trouble = std::unexpected<std::string>;
  using Worked = std::expected<void, std::string>;

  RabbitmqSource(const ConsumeConfig& config, AmqpAddress broker);

  void run();
  Worked open_channels();
  // Serves until it is stopped, or until the connection is lost, which is the error.
  Worked serve();
  Worked run_commands();
  Worked send_acks(std::vector<std::uint64_t> numbers);
  Worked publish_dead_letter(Command command);
  // Takes the next thing that has arrived. False: nothing (more) has.
  std::expected<bool, std::string> read_one();
  Worked take_delivery(amqp_envelope_t envelope);
  Worked read_other_frame();
  Worked confirmed(std::uint64_t number, bool multiple, bool kept);
  Worked returned();
  void forget_connection();
  void wait_for_events(std::chrono::milliseconds timeout);

  const BrokerConfig config_;
  const DeadLetterConfig dead_letters_;
  const AmqpAddress broker_;
  Callbacks callbacks_;
  Commands<Command> commands_;
  std::thread thread_;
  std::atomic<bool> fetching_ = true;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> connection_number_ = 0;

  // Used by the thread only.
  AmqpConnection connection_;
  bool consuming_ = false;
  std::map<std::uint64_t, Envelope> unsettled_;  // by delivery tag
  std::uint64_t published_ = 0;
  std::map<std::uint64_t, Published> unconfirmed_;  // by publishing number
};

}  // namespace semel
