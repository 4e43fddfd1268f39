#pragma once

#include <expected>
#include <map>
#include <memory>
#include <string>

#include "brokers/amqp_library.h"
#include "brokers/amqp_link.h"
#include "config/consume.h"
#include "consume/sources/threaded_source.h"

namespace semel::consume {

// A queue of RabbitMQ, over one connection with two channels: one to consume, one to publish dead
// letters with confirms. A connection of rabbitmq-c is for one thread, so everything is done on
// that thread.
class RabbitmqSource final : public ThreadedSource {
 public:
  static std::expected<std::unique_ptr<Source>, std::string> make(
      const config::ConsumeConfig& config);
  ~RabbitmqSource() override;

 private:
  struct EnvelopeFree {
    void operator()(amqp_envelope_t* envelope) const {
      amqp_destroy_envelope(envelope);
      delete envelope;
    }
  };
  // The broker's description of a message, without the body, which the BrokerMessage has.
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

  RabbitmqSource(const config::ConsumeConfig& config, brokers::AmqpAddress broker);

  std::vector<std::function<void()>> threads() override;
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

  const config::BrokerConfig config_;
  const config::DeadLetterConfig dead_letters_;
  const brokers::AmqpAddress broker_;

  // Used by the thread only.
  brokers::AmqpConnection connection_;
  bool consuming_ = false;
  std::map<std::uint64_t, Envelope> unsettled_;  // by delivery tag
  std::uint64_t published_ = 0;
  std::map<std::uint64_t, Published> unconfirmed_;  // by publishing number
};

}  // namespace semel::consume
