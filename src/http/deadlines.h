#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <chrono>

#include "semel/time.h"

namespace semel::http {

class Deadlines;

// The time by which the current operation must end. When it passes, `expire()` is called, and again
// at every tick until the deadline is set again or cleared, so that an operation that was just
// being started is caught as well.
class Deadline : public boost::intrusive::list_base_hook<
                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  explicit Deadline(Deadlines& deadlines) : deadlines_(deadlines) {}
  virtual ~Deadline() = default;
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  void set(Duration from_now);
  void clear();
  bool expired() const { return expired_; }

 protected:
  // The time of the last tick.
  std::chrono::steady_clock::time_point last_tick() const;

 private:
  friend class Deadlines;
  virtual void expire() = 0;

  Deadlines& deadlines_;
  std::chrono::steady_clock::time_point at_;
  bool expired_ = false;
};

// The deadlines of one worker, checked a few times per second: setting one costs no system call and
// no timer. Use on the worker's thread only.
class Deadlines {
 public:
  explicit Deadlines(const boost::asio::any_io_executor& executor);

  // Checks the deadlines until stop().
  boost::asio::awaitable<void> run();
  void stop();
  // The time of the last tick.
  std::chrono::steady_clock::time_point now() const { return now_; }

 private:
  friend class Deadline;
  using List = boost::intrusive::list<Deadline, boost::intrusive::constant_time_size<false>>;

  boost::asio::steady_timer timer_;
  List list_;
  std::chrono::steady_clock::time_point now_;
  bool stopped_ = false;
};

inline std::chrono::steady_clock::time_point Deadline::last_tick() const {
  return deadlines_.now();
}

}  // namespace semel::http
