#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/wakeup.h"
#include "config/config.h"
#include "relay/deliveries.h"
#include "relay/outbox.h"

namespace semel::relay {

// Goes between the outbox and the deliveries: leases lanes, hands them over, renews their leases,
// and writes down what became of them. Blocks; has a thread of its own.
//
// If a report never lands, the lane's lease runs out and its messages are delivered again, under
// the same keys. No message ever leaves the outbox unless its destination took it or it was made a
// dead letter.
class Courier {
 public:
  using Clock = std::chrono::steady_clock;

  // `who` names this run among all relays.
  Courier(std::string url, std::string schema, const config::RelayConfig& config,
          Duration drain_timeout, std::string who);

  // Opens the outbox, to see whether it is there at all. The error is a sentence for the operator.
  std::expected<void, std::string> open();
  // Runs until stop(), and then until every lane was given back (true) or drain_timeout has passed
  // (false).
  bool run(Deliveries& deliveries);

  // May be called from any thread.
  void stop();
  void report(Report report);

 private:
  using Result = std::expected<void, std::string>;

  // One round: writes down, renews, takes, sleeps. The error: the connection has to be made anew.
  Result round(Deliveries& deliveries);
  Result write_down();
  Result renew();
  Result look(Deliveries& deliveries);
  Result find_urls();
  Result warn_of_unconfigured_destinations();
  // Returns how many lanes were taken.
  std::expected<std::size_t, std::string> take(Deliveries& deliveries);
  Result settle_down(Deliveries& deliveries);
  Result sleep();
  Result get_up();

  void reconnect();
  // Returns how long to wait for the database now.
  Duration patience();
  void lose(const std::vector<LeaseId>& leases);
  // The destinations that can be given more, and how much more each can be given.
  struct Open {
    std::vector<Room> rooms;
    bool all = true;
  };
  Open open_destinations() const;
  std::shared_ptr<Lane> lane_of(LeasedLane leased, Clock::time_point until) const;
  bool is_done() const { return held_.empty() && unwritten_.empty(); }

  const std::string url_;
  const std::string schema_;
  const config::RelayConfig& config_;
  const Duration drain_timeout_;
  const std::string who_;

  base::Wakeup wakeup_;
  std::mutex mutex_;
  std::vector<Report> reported_;  // under mutex_
  // When to give up, once it is to stop; under mutex_.
  std::optional<Clock::time_point> give_up_;

  // Everything below belongs to the courier's thread.
  std::optional<Outbox> outbox_;
  int failures_ = 0;               // to connect, in a row
  std::uint64_t connections_ = 0;  // that were tried
  std::vector<Report> unwritten_;
  // How much of one destination is held.
  struct Busy {
    std::size_t lanes = 0;
    std::size_t bytes = 0;
  };
  std::map<LeaseId, std::shared_ptr<Lane>> held_;
  std::map<std::string, Busy> busy_;  // by destination
  std::vector<std::string> names_;    // the configured destinations
  std::vector<std::string> urls_;     // the destinations of this window that are URLs
  std::string urls_after_;            // where the next window begins; "": at the beginning
  std::set<std::string> unconfigured_destinations_;  // those that were warned of
  Clock::time_point unconfigured_at_{};              // when to look for them again
  Clock::time_point unconfigured_forget_at_{};
  Clock::time_point renew_at_{};
  Clock::time_point look_at_{};
  int quiet_looks_ = 0;
  bool idle_ = false;  // those who enqueue notify us
};

}  // namespace semel::relay
