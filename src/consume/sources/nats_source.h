#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "brokers/commands.h"
#include "brokers/nats_link.h"
#include "brokers/reconnect.h"
#include "config/consume.h"
#include "consume/sources/source.h"

namespace semel {

// A pull consumer of a JetStream stream. One thread fetches; the other settles, publishes dead
// letters, and tells the server about every message that is still being worked on before its
// AckWait is over. A fetched message can be settled even after the library has lost the connection
// and made it again, so deliveries are named by their number in the stream; but not after the
// library has given the connection up.
class NatsSource final : public Source {
 public:
  static std::expected<std::unique_ptr<Source>, std::string> make(const ConsumeConfig& config);
  ~NatsSource() override;

  void start(Callbacks callbacks) override;
  bool is_current(const DeliveryId& delivery) const override {
    return delivery.connection == connection_;
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
  using JetStream = std::unique_ptr<jsCtx, NatsDestroy<jsCtx, jsCtx_Destroy>>;
  using Fetched = NatsMessage;
  // In this order: later members refer to earlier ones.
  struct Link {
    NatsConnection connection;
    JetStream jet_stream;
    NatsSubscription subscription;
    bool is_connected() const {
      return natsConnection_Status(connection.get()) == NATS_CONN_STATUS_CONNECTED;
    }
    bool is_closed() const { return natsConnection_IsClosed(connection.get()); }
  };
  // How far the consumer had come when it was last seen, and in which stream.
  struct Progress {
    std::int64_t stream_created_at = 0;
    std::uint64_t acknowledged = 0;  // all up to this number
  };
  using Worked = std::expected<void, std::string>;
  using Trouble = std::unexpected<std::string>;

  NatsSource(const ConsumeConfig& config, std::string operation);

  void fetch_until_stopped();
  std::expected<std::shared_ptr<Link>, std::string> open();
  Worked find_consumer(const Link& link);
  Worked make_consumer(const Link& link);
  void look_after_consumer(const Link& link);
  Worked subscribe(Link& link);
  // Fetches until nothing is wanted any more (true), or the library has given the connection up
  // (false).
  bool fetch_from(const Link& link);
  void drop_link();
  // Waits until there is room for more messages. Returns for how many; 0: none are wanted any more.
  int wait_for_room();
  void take(Fetched message);
  bool pause(std::chrono::milliseconds duration);

  void settle_until_stopped();
  void settle(Command command);
  bool publish_dead_letter(const Link& link, const Command& command);
  void keep_alive();
  // A message, and the link that it refers to.
  struct Taken {
    std::shared_ptr<Link> link;
    Fetched message;
  };
  Taken remove(const DeliveryId& delivery);
  std::shared_ptr<Link> link();

  const BrokerConfig config_;
  const std::string dead_letter_subject_;
  const std::string operation_;
  Callbacks callbacks_;
  Commands<Command> commands_;
  std::atomic<bool> fetching_ = true;
  std::atomic<bool> stopping_ = false;

  // Used by the fetching thread only.
  Backoff wait_ = reconnect_pauses();
  std::chrono::steady_clock::time_point look_after_consumer_at_{};
  std::optional<Progress> progress_;

  std::atomic<std::uint64_t> connection_ = 1;  // counts the links
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Link> link_;                  // null: there is none
  std::map<std::uint64_t, Fetched> unsettled_;  // of link_, by the number in the stream

  std::thread fetcher_;
  std::thread settler_;
};

}  // namespace semel
