#pragma once

#include <chrono>
#include <condition_variable>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "brokers/nats_link.h"
#include "brokers/reconnect.h"
#include "config/consume.h"
#include "consume/sources/threaded_source.h"

namespace semel::consume {

// A pull consumer of a JetStream stream. One thread fetches; the other settles, publishes dead
// letters, and tells the server about every message that is still being worked on before its
// AckWait is over. A fetched message can be settled even after the library has lost the connection
// and made it again, so deliveries are named by their number in the stream; but not after the
// library has given the connection up.
class NatsSource final : public ThreadedSource {
 public:
  static std::expected<std::unique_ptr<Source>, std::string> make(
      const config::ConsumeConfig& config);
  ~NatsSource() override;

  void stop_fetching() override;

 private:
  using JetStream = std::unique_ptr<jsCtx, brokers::NatsDestroy<jsCtx, jsCtx_Destroy>>;
  using Fetched = brokers::NatsMessage;
  // In this order: later members refer to earlier ones.
  struct Link {
    brokers::NatsConnection connection;
    JetStream jet_stream;
    brokers::NatsSubscription subscription;
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

  NatsSource(const config::ConsumeConfig& config, std::string operation);

  std::vector<std::function<void()>> threads() override;

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

  const config::BrokerConfig config_;
  const std::string dead_letter_subject_;
  const std::string operation_;

  // Used by the fetching thread only.
  base::Backoff wait_ = brokers::reconnect_pauses();
  std::chrono::steady_clock::time_point look_after_consumer_at_{};
  std::optional<Progress> progress_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Link> link_;  // null: there is none
  // By the number in the stream. After link_, to be destroyed before it: messages refer to their
  // subscription.
  std::map<std::uint64_t, Fetched> unsettled_;
};

}  // namespace semel::consume
