#pragma once

#include <chrono>
#include <list>
#include <mutex>
#include <unordered_map>

#include "stores/answer_cache.h"

namespace semel {

// In this process: the records that were asked for last, up to a number of bytes, each for a while.
class LocalCache final : public AnswerCache {
 public:
  using Clock = std::chrono::steady_clock;

  LocalCache(std::size_t bytes_max, Clock::duration kept_for)
      : bytes_max_(bytes_max), kept_for_(kept_for) {}

  boost::asio::awaitable<std::optional<Record>> find(RecordId id, Time now) override;
  boost::asio::awaitable<void> keep(Record record, Asked asked) override;
  boost::asio::awaitable<void> drop(Outdated outdated) override;
  bool takes_running() const override { return false; }

  std::size_t bytes() const;

 private:
  struct Entry {
    Record record;
    std::size_t bytes = 0;
    Clock::time_point until;
  };
  using Entries = std::list<Entry>;

  void remove(std::unordered_map<RecordId, Entries::iterator>::iterator found);

  const std::size_t bytes_max_;
  const Clock::duration kept_for_;
  mutable std::mutex mutex_;
  Entries entries_;  // what was used last comes first
  std::unordered_map<RecordId, Entries::iterator> by_id_;
  std::size_t bytes_ = 0;
};

}  // namespace semel
