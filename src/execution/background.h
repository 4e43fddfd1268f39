#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "runtime/shares.h"
#include "semel/engine.h"

namespace semel {

class Worker;
struct Services;

// Executes what was queued: work that a client was answered 202 for, in this run or in an earlier
// one. Thread-safe.
//
// Who has much waiting does not hold up the others: every tenant has its turn.
//
// Only ids wait in memory; each request is read from its record when its turn comes. What does not
// begin before the process ends stays queued in the store, and the next run takes it up.
class Background {
 public:
  explicit Background(Services& services) : services_(services) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // How much may wait and run at once, and how much of it may run.
  void set_limit(std::size_t held_max) { held_max_ = held_max; }

  // Room for one piece of work, for as long as it lives.
  struct Slot {
    Slot(std::atomic<std::size_t>& held, ShareHolderPtr for_whom, ShareHolderPtr from_peer);
    bool has_share_of(std::size_t limit) const;

    ShareHolderPtr holder;  // whose it is
    ShareHolderPtr peer;    // who sent it; null: a trusted proxy, or an earlier run took it
    Counted all;
    Counted own;
    std::optional<Counted> peers;
  };
  // nullopt: as much is held as may be, of this tenant, of this peer, or altogether. Work without a
  // tenant of its own is its operation's.
  std::optional<Slot> reserve(std::string_view tenant, std::string_view operation,
                              ShareHolderPtr peer = nullptr);

  // To be executed in its turn.
  void add(const QueuedWork& work, Slot slot);
  // The same for what the engine found in the store; where there is no room it is put off.
  void resume(const QueuedWork& work);

  // Whether this process has the route of this work, and what that says about an execution that
  // was lost. To be called where the engine sweeps.
  KeptWork look_at(const Record& kept) const;

  std::size_t held() const { return held_; }

 private:
  struct Item {
    QueuedWork work;
    Slot slot;
  };
  // What one holder has in hand. Holders take turns.
  struct Lane {
    std::size_t running = 0;
    std::deque<Item> waiting;
  };
  void pump();
  // The next that may run now; to be called with the mutex held.
  std::optional<Item> take_next();
  boost::asio::awaitable<void> run(Worker& worker, Item item);
  boost::asio::awaitable<void> execute(Worker& worker, QueuedWork work);
  std::size_t running_max() const;

  Services& services_;
  std::atomic<std::size_t> held_max_ = 0;
  std::atomic<std::size_t> held_ = 0;
  std::mutex mutex_;
  std::unordered_map<const ShareHolder*, Lane> lanes_;  // of those who have anything here
  std::deque<const ShareHolder*> turns_;  // those with waiting work, the next one first
  std::size_t running_ = 0;
  std::size_t next_worker_ = 0;
};

}  // namespace semel
