#pragma once

#include "gateway/metrics.h"
#include "semel/store.h"

namespace semel {

// A store whose writes are timed.
class MeteredStore final : public Store {
 public:
  MeteredStore(Store& store, Metrics& metrics) : store_(store), metrics_(metrics) {}

  boost::asio::awaitable<StoreResult<std::optional<Record>>> read(RecordId id) override {
    return store_.read(id);
  }
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::optional<Record> next) override;
  boost::asio::awaitable<StoreResult<std::vector<Record>>> sweep(Time now,
                                                                 std::size_t limit) override {
    return store_.sweep(now, limit);
  }
  boost::asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                                     std::size_t limit) override {
    return store_.scan(after, limit);
  }
  StoreFeatures features() const override { return store_.features(); }
  StoreStats stats() const override { return store_.stats(); }
  std::optional<std::string> trouble() const override { return store_.trouble(); }

 private:
  Store& store_;
  Metrics& metrics_;
};

}  // namespace semel
