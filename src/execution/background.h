#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "runtime/limits/shares.h"
#include "semel/driver/engine.h"

namespace semel::runtime {
struct Services;
class Worker;
}  // namespace semel::runtime

namespace semel::execution {

// Executes queued work: requests that were answered with 202, in this run or in an earlier one.
// Thread-safe.
//
// A tenant with much waiting work does not hold up the others: every tenant has its turn.
//
// Only ids wait in memory; each request is read from its record when its turn comes. Work that has
// not begun when the process ends stays queued in the store, and the next run resumes it.
class Background {
 public:
  explicit Background(runtime::Services& services) : services_(services) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Sets how much work may be held, waiting and running; the limit on running work follows from it.
  void set_limit(std::size_t held_max) { held_max_ = held_max; }

  // Room for one piece of work while the slot lives.
  struct Slot {
    Slot(std::atomic<std::size_t>& held, runtime::ShareHolderPtr for_whom,
         runtime::ShareHolderPtr from_peer);
    bool has_share_of(std::size_t limit) const;

    runtime::ShareHolderPtr holder;  // whose work it is
    runtime::ShareHolderPtr peer;  // who sent it; null: a trusted proxy, or an earlier run took it
    runtime::Counted all;
    runtime::Counted own;
    std::optional<runtime::Counted> peers;
  };
  // nullopt: this tenant, this peer or all together already hold as much as they may. Work without
  // a tenant of its own counts as its operation's.
  std::optional<Slot> reserve(std::string_view tenant, std::string_view operation,
                              runtime::ShareHolderPtr peer = nullptr);

  // Executes the work when its turn comes.
  void add(const QueuedWork& work, Slot slot);
  // Adds work that the engine found in the store, or puts it off if there is no room.
  void resume(const QueuedWork& work);

  // Returns whether this process has the route of this work, and what the route says about an
  // execution that was lost. Call it where the engine sweeps.
  KeptWork look_at(const Record& kept) const;

  std::size_t held() const { return held_; }

 private:
  struct Item {
    QueuedWork work;
    Slot slot;
  };
  // The work of one holder. Holders take turns.
  struct Lane {
    std::size_t running = 0;
    std::deque<Item> waiting;
  };
  void pump();
  // Takes the next item that may run now. Call it with the mutex held.
  std::optional<Item> take_next();
  boost::asio::awaitable<void> run(runtime::Worker& worker, Item item);
  // Returns when to try again, because the route's circuit is open; nullopt: the work is no longer
  // ours.
  boost::asio::awaitable<std::optional<Duration>> execute(runtime::Worker& worker, QueuedWork work);
  std::size_t running_max() const;

  runtime::Services& services_;
  std::atomic<std::size_t> held_max_ = 0;
  std::atomic<std::size_t> held_ = 0;
  std::mutex mutex_;
  std::unordered_map<const runtime::ShareHolder*, Lane> lanes_;  // of holders that have work here
  std::deque<const runtime::ShareHolder*> turns_;  // holders with waiting work, the next one first
  std::size_t running_ = 0;
  std::size_t next_worker_ = 0;
};

}  // namespace semel::execution
