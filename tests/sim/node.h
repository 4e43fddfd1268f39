#pragma once

#include <memory>

#include "semel/driver/engine.h"
#include "sim/store/faulty_store.h"

namespace semel::sim {

struct Request {
  int key = 0;
  int payload = 0;
  bool waits = false;
  bool async = false;  // to be queued
};

// One run of one node: the production engine, and around it as much of a gateway as it takes to
// have requests executed and answered. Dies without notice.
class Node final : private Observer {
 public:
  struct Place {
    int number = 0;
    std::uint64_t run = 0;
    support::VirtualTime::Lane lane = 0;
    support::VirtualTime::Lane wire = 0;  // of its writes
    Duration clock_off{0};
  };
  Node(Lab& lab, const Place& place);

  void serve(const Request& request);
  // An operator decides about an unknown record: with an answer, or without (a release).
  void resolve(int key, bool complete);

  void set_clock(Duration off) { clock_.set_offset(off); }
  void freeze(Duration duration);
  // Everything in flight is gone, between any two awaits. Then destroy it.
  void die();
  bool idle() const { return engine_.running().executions == 0; }

 private:
  boost::asio::awaitable<void> handle(Request request);
  boost::asio::awaitable<void> run_queued(QueuedWork work);
  boost::asio::awaitable<void> execute(Request request, EngineClaim claim);
  boost::asio::awaitable<void> finish(Request request, EngineClaim claim, Execution& execution);
  boost::asio::awaitable<void> resolve_key(int key, bool complete);
  void spawn(boost::asio::awaitable<void> task);
  Call call(const Request& request) const;
  void answered(const Request& request, const Record* record, const Answer& answer,
                std::string how);
  void answer_first(const Request& request, const Finished& finished, const Outcome& outcome);

  void transitioned(const Record* before, const Record* after, Time now) override;
  void lease_lost(const RecordId& id) override;
  void store_failed(std::string_view what, std::string_view why) override;

  Lab& lab_;
  const Place place_;
  const std::string name_;
  bool alive_ = true;
  support::VirtualClock clock_;
  WatchedStore watched_;
  Engine engine_;
};

}  // namespace semel::sim
