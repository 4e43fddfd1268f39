#pragma once

#include <memory>

#include "semel/clock.h"
#include "semel/store.h"

namespace semel {

// The store's clock, where it has one, so that all processes agree about when a lease is over; the
// machine's until the store has been reached, where it has none, and after it was destroyed. The
// pointer to the store must outlive this; what it points to need not, but is to be reset on a
// thread while no other asks for the time.
class StoreClock final : public Clock {
 public:
  StoreClock(Clock& machine, const std::unique_ptr<Store>& store)
      : machine_(machine), store_(store) {}

  Time now() const override {
    const std::optional<Time> by_store = store_ ? store_->now() : std::nullopt;
    return by_store ? *by_store : machine_.now();
  }
  SteadyTime steady() const override { return machine_.steady(); }
  boost::asio::awaitable<void> sleep(Duration duration) override {
    return machine_.sleep(duration);
  }

 private:
  Clock& machine_;
  const std::unique_ptr<Store>& store_;
};

}  // namespace semel
