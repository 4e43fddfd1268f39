#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "brokers/commands.h"
#include "brokers/nats_link.h"
#include "messages/source.h"

namespace semel {

// A pull consumer of a JetStream stream. One thread fetches; the other settles, publishes dead
// letters, and tells the server of everything that is still being worked on before its AckWait is
// over. What was fetched can be settled after the connection was lost and made again, so deliveries
// are named by their number in the stream.
class NatsSource final : public Source {
 public:
  static std::expected<std::unique_ptr<Source>, std::string> make(const ConsumeConfig& config);
  ~NatsSource() override;

  void start(Callbacks callbacks) override;
  bool is_current(const DeliveryId&) const override { return true; }
  void ack(const DeliveryId& delivery) override;
  void give_back(const DeliveryId& delivery) override;
  void dead_letter(std::shared_ptr<const Message> message, DeadLetter why,
                   std::function<void(bool)> done) override;
  void stop_fetching() override;
  void stop() override;

 private:
  struct Command {
    enum class Kind { ack, give_back, dead_letter } kind = Kind::ack;
    std::uint64_t number = 0;  // in the stream
    std::shared_ptr<const Message> message = nullptr;
    DeadLetter why = {};
    std::function<void(bool)> done = nullptr;
  };
  using JetStream = std::unique_ptr<jsCtx, NatsDestroy<jsCtx, jsCtx_Destroy>>;
  using Fetched = NatsMessage;
  using Worked = std::expected<void, std::string>;
  using Trouble = std::unexpected<std::string>;

  NatsSource(const ConsumeConfig& config, std::string operation);

  void fetch_until_stopped();
  Worked connect();
  Worked find_consumer();
  void look_after_consumer();
  Worked subscribe();
  // Waits until there is room for more messages; how many, or 0 when none are wanted any more.
  int wait_for_room();
  void take(Fetched message);
  bool pause(std::chrono::milliseconds duration);

  void settle_until_stopped();
  void settle(Command command);
  bool publish_dead_letter(const Command& command);
  void keep_alive();
  Fetched remove(std::uint64_t number);

  const BrokerConfig config_;
  const std::string dead_letter_subject_;
  const std::string operation_;
  Callbacks callbacks_;
  Commands<Command> commands_;
  std::atomic<bool> fetching_ = true;
  std::atomic<bool> stopping_ = false;

  // In this order: what comes later refers to what comes before.
  NatsConnection connection_;
  JetStream jet_stream_;
  NatsSubscription subscription_;
  std::atomic<bool> connected_ = false;  // all three are there, and stay

  std::chrono::steady_clock::time_point look_after_consumer_at_{};  // of the fetching thread

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Fetched> unsettled_;

  std::thread fetcher_;
  std::thread settler_;
};

}  // namespace semel
