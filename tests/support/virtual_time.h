#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "semel/driver/clock.h"

namespace semel::support {

// Time that passes only when nothing is left to do: whatever is ready runs first, then the clock
// jumps to the next event. One thread, one order, so a run is a function of its inputs.
//
// Every event belongs to a lane. A lane can be frozen (a process that is paused) and dropped (a
// process that dies): with its events go the coroutines that waited for them.
class VirtualTime {
 public:
  using Lane = std::uint32_t;
  using Fire = std::move_only_function<void()>;
  // In the future, so that a real store does not remove by its own clock what is expired by this.
  static constexpr Time kStart{std::chrono::sys_days{std::chrono::year{2100} / 1 / 1}};

  explicit VirtualTime(boost::asio::io_context& io) : io_(io), work_(io.get_executor()) {}

  Time now() const { return now_; }

  void at(Time when, Lane lane, Fire fire) {
    events_.emplace(std::pair(std::max(when, now_), sequence_++), Event{lane, std::move(fire)});
  }
  void in(Duration delay, Lane lane, Fire fire) { at(after(now_, delay), lane, std::move(fire)); }

  boost::asio::awaitable<void> pause(Lane lane, Duration delay) {
    auto initiate = [this, lane, delay](auto handler) {
      in(delay, lane, [this, handler = std::move(handler)]() mutable {
        boost::asio::post(io_, std::move(handler));
      });
    };
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
        std::move(initiate), boost::asio::use_awaitable);
  }

  // Nothing of the lane happens before `until`; what was due is then done late, in its order.
  void freeze(Lane lane, Time until) { frozen_[lane] = until; }

  // Removes and returns the lane's pending events, in order. Destroying them kills the lane.
  std::vector<Fire> take(Lane lane) {
    std::vector<Fire> taken;
    for (auto at = events_.begin(); at != events_.end();) {
      if (at->second.lane == lane) {
        taken.push_back(std::move(at->second.fire));
        at = events_.erase(at);
      } else {
        ++at;
      }
    }
    frozen_.erase(lane);
    return taken;
  }

  void run_ready() { io_.poll(); }

  // Runs what is ready and everything due by `end`; then it is `end`.
  void run_until(Time end) {
    run_ready();
    while (!events_.empty() && events_.begin()->first.first <= end) {
      step();
      run_ready();
    }
    now_ = std::max(now_, end);
  }
  void run_for(Duration duration) { run_until(after(now_, duration)); }

 private:
  struct Event {
    Lane lane;
    Fire fire;
  };

  void step() {
    auto next = events_.extract(events_.begin());
    now_ = next.key().first;
    Event event = std::move(next.mapped());
    const auto frozen = frozen_.find(event.lane);
    if (frozen != frozen_.end() && frozen->second > now_) {
      at(frozen->second, event.lane, std::move(event.fire));
      return;
    }
    event.fire();
  }

  boost::asio::io_context& io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  Time now_ = kStart;
  std::uint64_t sequence_ = 0;
  std::map<std::pair<Time, std::uint64_t>, Event> events_;
  std::map<Lane, Time> frozen_;
};

// How one process sees the time: it may be off, and it may be stepped.
class VirtualClock final : public Clock {
 public:
  VirtualClock(VirtualTime& time, VirtualTime::Lane lane, Duration offset = Duration{0})
      : time_(time), lane_(lane), offset_(offset) {}

  Time now() const override { return time_.now() + offset_; }
  SteadyTime steady() const override { return SteadyTime(time_.now().time_since_epoch()); }
  boost::asio::awaitable<void> sleep(Duration duration) override {
    return time_.pause(lane_, duration);
  }
  void set_offset(Duration offset) { offset_ = offset; }

 private:
  VirtualTime& time_;
  VirtualTime::Lane lane_;
  Duration offset_;
};

}  // namespace semel::support
