#pragma once

#include <atomic>

#include "semel/driver/clock.h"
#include "semel/driver/store.h"

namespace semel::engine {

// The store's clock, if it has one, so that all processes agree about when a lease is over. The
// machine's clock until the store has been reached, if the store has no clock, and after let_go().
class StoreClock final : public Clock {
 public:
  StoreClock(Clock& machine, const Store& store) : machine_(machine), store_(&store) {}

  Time now() const override {
    const Store* store = store_;
    const std::optional<Time> by_store = store ? store->now() : std::nullopt;
    return by_store ? *by_store : machine_.now();
  }
  SteadyTime steady() const override { return machine_.steady(); }
  SteadyTime since_boot() const override { return machine_.since_boot(); }
  boost::asio::awaitable<void> sleep(Duration duration) override {
    return machine_.sleep(duration);
  }

  // The store may be destroyed after this, provided that nobody asks for the time meanwhile.
  void let_go() { store_ = nullptr; }

 private:
  Clock& machine_;
  std::atomic<const Store*> store_;
};

}  // namespace semel::engine
