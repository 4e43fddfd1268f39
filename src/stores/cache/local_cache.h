#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "stores/cache/answer_cache.h"

namespace semel::stores {

// A cache in this process: the records that were used last, up to a number of bytes, each for a
// limited time.
class LocalCache final : public AnswerCache {
 public:
  using Clock = std::chrono::steady_clock;

  // `kept_for` nullopt: for as long as there is room.
  LocalCache(std::size_t bytes_max, std::optional<Clock::duration> kept_for)
      : bytes_max_(bytes_max), kept_for_(kept_for) {}

  boost::asio::awaitable<RecordPtr> find(RecordId id, Time now) override;
  boost::asio::awaitable<void> keep(Record record, Asked asked) override;
  boost::asio::awaitable<void> drop(Outdated outdated) override;
  bool takes_running() const override { return false; }

  // For a store with one writer that reports every write here, in order, before it is acknowledged:
  // a cached record is then never out of date. Do not mix with find(), keep() and drop().
  RecordPtr at_hand(const RecordId& id);
  void written(RecordPtr record);
  void erased(const RecordId& id);
  // read_since() caches a record that was read after changes() had returned `changes`, unless there
  // was a write since.
  std::uint64_t changes() const;
  void read_since(std::uint64_t changes, RecordPtr record);

  std::size_t bytes() const;

 private:
  struct Entry {
    RecordPtr record;
    std::size_t bytes = 0;
    Clock::time_point until;
  };
  using Entries = std::list<Entry>;
  using ById = std::unordered_map<RecordId, Entries::iterator>;

  // Call with the lock held.
  void put(RecordPtr record, Clock::time_point until);
  void remove(ById::iterator found);

  const std::size_t bytes_max_;
  const std::optional<Clock::duration> kept_for_;
  mutable std::mutex mutex_;
  Entries entries_;  // most recently used first
  ById by_id_;
  std::size_t bytes_ = 0;
  std::uint64_t changes_ = 0;  // number of calls of written() and erased()
};

}  // namespace semel::stores
