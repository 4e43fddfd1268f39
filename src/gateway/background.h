#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "semel/engine.h"

namespace semel {

class Worker;
struct Gateway;

// Executes what was queued: work that a client was answered 202 for, in this run or in an earlier
// one. Thread-safe.
//
// Only ids wait in memory; each request is read from its record when its turn comes. What does not
// begin before the process ends stays queued in the store, and the next run takes it up.
class Background {
 public:
  explicit Background(Gateway& gateway) : gateway_(gateway) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // To be called before anything runs.
  void attach(Worker& worker) { workers_.push_back(&worker); }

  // How much may wait and run at once, and how much of it may run.
  void set_limit(std::size_t held_max) { held_max_ = held_max; }

  // Room for one piece of work, for as long as it lives.
  class Place {
   public:
    explicit Place(std::atomic<std::size_t>& held) : held_(&held) {}
    Place(Place&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (held_) held_->fetch_sub(1);
    }

   private:
    std::atomic<std::size_t>* held_;
  };
  // nullopt: as much is held as may be.
  std::optional<Place> reserve();

  // To be executed in its turn.
  void add(const QueuedWork& work, Place place);
  // The same for what the engine found in the store; where there is no room it is put off.
  void resume(const QueuedWork& work);

  // Whether this process has the route of this work, and what that says about an execution that
  // was lost. To be called where the engine sweeps.
  KeptWork look_at(const Record& kept) const;

  std::size_t held() const { return held_; }

 private:
  struct Item {
    QueuedWork work;
    Place place;
  };
  void pump();
  boost::asio::awaitable<void> run(Worker& worker, Item item);
  boost::asio::awaitable<void> execute(Worker& worker, QueuedWork work);
  std::size_t running_max() const;

  Gateway& gateway_;
  std::vector<Worker*> workers_;
  std::atomic<std::size_t> held_max_ = 0;
  std::atomic<std::size_t> held_ = 0;
  std::mutex mutex_;
  std::deque<Item> waiting_;
  std::size_t running_ = 0;
  std::size_t next_worker_ = 0;
};

}  // namespace semel
