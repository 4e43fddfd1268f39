#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <optional>

#include "semel/record.h"

namespace semel {

// Records, kept where they are reached faster than in the store that decides. What it gives was
// true there less than a configured time ago; it may lose anything at any time. Any thread may
// call; calls resume on the caller's executor.
class AnswerCache {
 public:
  // When the store that decides was asked: what it said was true at some moment since. By its
  // clock, which all processes share, and by this process's.
  struct Asked {
    Time at{};
    std::chrono::steady_clock::time_point since;
  };
  // What is no longer true: whatever was written to the record until `at`.
  struct Outdated {
    RecordId id;
    Time at{};
    bool is_running = false;  // somebody executes it now
  };

  virtual ~AnswerCache() = default;

  // Null: not there, or in doubt. `now` by the clock of the store that decides.
  virtual boost::asio::awaitable<RecordPtr> find(RecordId id, Time now) = 0;
  // Never replaces what was written later.
  virtual boost::asio::awaitable<void> keep(Record record, Asked asked) = 0;
  virtual boost::asio::awaitable<void> drop(Outdated outdated) = 0;
  // Whether it is worth its while to keep, for a moment, what is in progress.
  virtual bool takes_running() const = 0;
};

}  // namespace semel
