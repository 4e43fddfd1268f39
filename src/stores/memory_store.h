#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "semel/driver/store.h"
#include "stores/cleanup_window.h"

namespace semel::stores {

// Keeps records in this process and loses them with it: for tests, demos and the simulator. Never
// suspends. Keeps each record's encoding, as every other store does, so that the cheapest tests
// find a record that does not survive its encoding.
class MemoryStore final : public Store {
 public:
  static constexpr std::size_t kRecordBytesMax = 64 << 20;

  // `cleanup`: the hours in which sweep() returns expired records; nullopt: always.
  explicit MemoryStore(std::optional<CleanupWindow> cleanup = std::nullopt) : cleanup_(cleanup) {}

  boost::asio::awaitable<StoreResult<RecordPtr>> read(RecordId id) override;
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) override;
  boost::asio::awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now,
                                                                    std::size_t limit) override;
  boost::asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                                     std::size_t limit) override;
  StoreFeatures features() const override;
  StoreStats stats() const override;
  std::optional<std::string> trouble() const override;

 private:
  struct Entry {
    Version version = 0;
    Time due = kNever;
    bool is_work = false;
    Time unknown_since = kNever;  // kNever: it is not unknown
    std::string encoding;
  };
  using Index = std::set<std::pair<Time, RecordId>>;

  static std::shared_ptr<Record> decoded(const RecordId& id, const Entry& entry);
  void unlist(const RecordId& id, const Entry& entry);
  void list(const RecordId& id, const Entry& entry);

  const std::optional<CleanupWindow> cleanup_;
  mutable std::mutex mutex_;
  std::map<RecordId, Entry> entries_;
  Index due_;
  Index due_work_;  // those of due_ that are looked after outside of the window, too
  Index unknown_;
  Version last_version_ = 0;  // of the whole store, so that no id ever sees a version twice
};

}  // namespace semel::stores
