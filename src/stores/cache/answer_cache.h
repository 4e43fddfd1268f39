#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <optional>

#include "semel/driver/record.h"

namespace semel::stores {

// A cache of records in front of the authoritative store. A record that it returns was true there
// less than a configured time ago; it may lose anything at any time. Any thread may call; calls
// resume on the caller's executor.
class AnswerCache {
 public:
  // When the authoritative store was asked: its answer was true at some moment since. `at` is by
  // its clock, which all processes share, `since` by this process's.
  struct Asked {
    Time at{};
    std::chrono::steady_clock::time_point since;
  };
  // Says that everything written to the record until `at` is out of date.
  struct Outdated {
    RecordId id;
    Time at{};
    bool is_running = false;  // somebody executes it now
  };

  virtual ~AnswerCache() = default;

  // Returns the record; null: absent, or in doubt. `now` is by the authoritative store's clock.
  virtual boost::asio::awaitable<RecordPtr> find(RecordId id, Time now) = 0;
  // Never replaces a record that was written later.
  virtual boost::asio::awaitable<void> keep(Record record, Asked asked) = 0;
  virtual boost::asio::awaitable<void> drop(Outdated outdated) = 0;
  // Returns whether it is worthwhile to keep records in progress here, for a moment.
  virtual bool takes_running() const = 0;
};

}  // namespace semel::stores
