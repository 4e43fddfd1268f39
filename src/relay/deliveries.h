#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "http/deadlines.h"
#include "relay/delivery.h"
#include "relay/outbox.h"
#include "semel/driver/clock.h"

namespace semel::telemetry {
class Notifier;
}  // namespace semel::telemetry

namespace semel::relay {

// Returns the name of a destination for the log: a URL without its query, which may be a secret.
std::string_view loggable(std::string_view destination);

// A lane while it is being delivered. Shared by the thread that delivers and the one that talks to
// the database; they communicate through the atomics.
struct Lane {
  std::int64_t lane = 0;
  LeaseId lease;
  std::string destination;
  bool ordered = false;  // more messages may follow these
  std::vector<Message> messages;
  std::size_t bytes = 0;  // of their payloads
  // The lane is ours until then, by our own clock. No delivery begins later.
  std::atomic<std::chrono::steady_clock::time_point> until;
  std::atomic<bool> lost = false;  // it is another's already
};

// Delivers lanes: the messages of each lane one after another, the lanes side by side.
//
// Message n + 1 of a lane is sent only when n was taken or is written down as a dead letter. So
// whatever happens to leases, the messages that a destination sees for the first time are in order;
// only messages that it has seen before, under the same key, may come late.
class Deliveries {
 public:
  // `notifier` is told of dead letters; null: nobody is.
  // Calls `report` with what became of each message, in order, on the thread that runs `context`.
  // The last report of a lane gives it back (see Verdict).
  Deliveries(boost::asio::io_context& context, const config::RelayConfig& config,
             const Clock& clock, std::function<void(Report)> report,
             telemetry::Notifier* notifier = nullptr);
  ~Deliveries();

  // Prepares the configured destinations. The error is a sentence for the operator.
  std::expected<void, std::string> open();
  // May be called from any thread.
  void start(std::shared_ptr<Lane> lane);
  // Lets no delivery begin any more; finishes and reports those that run. May be called from any
  // thread.
  void wind_up() { winding_up_ = true; }
  // Call it when every lane has been reported: lets the context run out of work.
  void close();

 private:
  boost::asio::awaitable<void> run(std::shared_ptr<Lane> lane);
  std::expected<std::shared_ptr<Destination>, std::string> make(config::RelayDestination config);
  std::shared_ptr<Destination> find(const std::string& name);
  void notify_dead(const Lane& lane, const Message& message, const Report& report) const;
  Report judge(const Lane& lane, const Message& message, const Outcome& outcome);

  boost::asio::io_context& context_;
  const config::RelayConfig& config_;
  const Clock& clock_;
  std::function<void(Report)> report_;
  telemetry::Notifier* const notifier_;
  http::Deadlines deadlines_;
  std::map<std::string, std::shared_ptr<Destination>, std::less<>> named_;
  std::map<std::string, std::shared_ptr<Destination>, std::less<>> by_url_;
  std::atomic<bool> winding_up_ = false;
};

}  // namespace semel::relay
