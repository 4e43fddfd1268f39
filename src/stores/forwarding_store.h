#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "semel/driver/store.h"

namespace semel::stores {

// A store over another store. Passes every call on; a subclass overrides what it changes.
class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(std::unique_ptr<Store> inner) : inner_(std::move(inner)) {}

  boost::asio::awaitable<StoreResult<RecordPtr>> read(RecordId id) override {
    return inner_->read(id);
  }
  RecordPtr cached_completed(const RecordId& id) override { return inner_->cached_completed(id); }
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) override {
    return inner_->swap(id, expected, std::move(next));
  }
  boost::asio::awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now,
                                                                    std::size_t limit) override {
    return inner_->sweep(now, limit);
  }
  boost::asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                                     std::size_t limit) override {
    return inner_->scan(after, limit);
  }
  boost::asio::awaitable<StoreResult<void>> put_chunk(RecordId id, Token token, std::uint32_t index,
                                                      std::string bytes) override {
    return inner_->put_chunk(id, token, index, std::move(bytes));
  }
  boost::asio::awaitable<StoreResult<std::optional<std::string>>> get_chunk(
      RecordId id, Token token, std::uint32_t index) override {
    return inner_->get_chunk(id, token, index);
  }
  boost::asio::awaitable<StoreResult<void>> drop_chunks(RecordId id, Token token) override {
    return inner_->drop_chunks(id, token);
  }
  boost::asio::awaitable<bool> ended(RecordId id, Token token, Duration timeout) override {
    return inner_->ended(id, token, timeout);
  }
  std::optional<Time> now() const override { return inner_->now(); }
  StoreFeatures features() const override { return inner_->features(); }
  StoreStats stats() const override { return inner_->stats(); }
  StoreDoubts doubts() const override { return inner_->doubts(); }
  std::optional<std::string> trouble() const override { return inner_->trouble(); }
  std::expected<void, std::string> reload() override { return inner_->reload(); }
  boost::asio::awaitable<std::expected<StoreBackup, std::string>> backup(std::string to) override {
    return inner_->backup(std::move(to));
  }

 protected:
  Store& inner() { return *inner_; }

 private:
  std::unique_ptr<Store> inner_;
};

}  // namespace semel::stores
