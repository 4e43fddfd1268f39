#pragma once

#include "semel/clock.h"
#include "semel/store.h"

namespace semel {

// The store's clock, where it has one, so that all processes agree about when a lease is over; the
// machine's until the store has been reached, and where it has none.
class StoreClock final : public Clock {
 public:
  StoreClock(Clock& machine, const Store& store) : machine_(machine), store_(store) {}

  Time now() const override {
    const std::optional<Time> by_store = store_.now();
    return by_store ? *by_store : machine_.now();
  }
  boost::asio::awaitable<void> sleep(Duration duration) override {
    return machine_.sleep(duration);
  }

 private:
  Clock& machine_;
  const Store& store_;
};

}  // namespace semel
