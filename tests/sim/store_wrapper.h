#pragma once

#include <utility>

#include "semel/store.h"

namespace semel::sim {

// A store that is another store, but for what a test changes.
class StoreWrapper : public Store {
 public:
  explicit StoreWrapper(Store& inner) : inner_(inner) {}

  boost::asio::awaitable<StoreResult<std::optional<Record>>> read(RecordId id) override {
    return inner_.read(id);
  }
  using Store::swap;
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) override {
    return inner_.swap(id, expected, std::move(next));
  }
  boost::asio::awaitable<StoreResult<std::vector<Record>>> sweep(Time now,
                                                                 std::size_t limit) override {
    return inner_.sweep(now, limit);
  }
  boost::asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                                     std::size_t limit) override {
    return inner_.scan(after, limit);
  }
  StoreFeatures features() const override { return inner_.features(); }
  StoreStats stats() const override { return inner_.stats(); }
  StoreDoubts doubts() const override { return inner_.doubts(); }
  std::optional<std::string> trouble() const override { return inner_.trouble(); }

 protected:
  Store& inner() { return inner_; }

 private:
  Store& inner_;
};

}  // namespace semel::sim
