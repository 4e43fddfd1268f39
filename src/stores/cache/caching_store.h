#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <set>

#include "semel/store.h"
#include "stores/cache/answer_cache.h"

namespace semel {

// The claims of which this process was told that they may have ended: the last few thousand.
class EndedClaims {
 public:
  void add(const Token& token);
  bool has(const Token& token) const;

 private:
  mutable std::mutex mutex_;
  std::set<Token> tokens_;
  std::deque<Token> order_;
};

// A store whose records are looked for in a cache first. The store below decides about everything:
// the cache can only say "this key is completed" or "it is being executed", which grants nothing to
// anybody. What it says may be as old as it keeps things; a record that is about to expire, a claim
// whose lease has run out, or what the cache is in doubt about, is asked for below.
class CachingStore final : public Store {
 public:
  CachingStore(std::unique_ptr<Store> inner, std::unique_ptr<AnswerCache> cache)
      : inner_(std::move(inner)), cache_(std::move(cache)) {}

  // Always the truth: whoever reads a record is about to change or to show it.
  boost::asio::awaitable<StoreResult<std::optional<Record>>> read(RecordId id) override {
    return inner_->read(id);
  }
  // A claim of a key that the cache knows as completed, or in progress, is a conflict at once.
  using Store::swap;
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) override;
  boost::asio::awaitable<StoreResult<std::vector<Record>>> sweep(Time now,
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
  // Whoever was held here asks the truth from now on.
  boost::asio::awaitable<bool> ended(RecordId id, Token token, Duration timeout) override;
  std::optional<Time> now() const override { return inner_->now(); }
  StoreFeatures features() const override { return inner_->features(); }
  StoreStats stats() const override { return inner_->stats(); }
  StoreDoubts doubts() const override { return inner_->doubts(); }
  std::optional<std::string> trouble() const override { return inner_->trouble(); }

 private:
  bool may_answer(const Record& found, const Token& claiming, Time now) const;
  boost::asio::awaitable<void> learn(const Record& seen, AnswerCache::Asked asked, bool by_claim,
                                     Version expected);

  EndedClaims ended_;
  // The last one first: what the cache is asked for may be on its way while the store ends.
  std::unique_ptr<Store> inner_;
  std::unique_ptr<AnswerCache> cache_;
};

}  // namespace semel
