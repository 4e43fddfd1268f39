#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "stores/cache/answer_cache.h"
#include "stores/forwarding_store.h"

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
class CachingStore final : public ForwardingStore {
 public:
  CachingStore(std::unique_ptr<Store> inner, std::unique_ptr<AnswerCache> cache)
      : ForwardingStore(std::move(inner)), cache_(std::move(cache)) {}

  // A claim of a key that the cache knows as completed, or in progress, is a conflict at once.
  // read() is passed on: whoever reads a record is about to change or to show it.
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) override;
  // Whoever was held here asks the truth from now on.
  boost::asio::awaitable<bool> ended(RecordId id, Token token, Duration timeout) override;

 private:
  bool may_answer(const Record& found, const Token& claiming, Time now) const;
  boost::asio::awaitable<void> learn(const Record& seen, AnswerCache::Asked asked, bool by_claim,
                                     Version expected);

  EndedClaims ended_;
  std::unique_ptr<AnswerCache> cache_;  // ends before the store below
};

}  // namespace semel
