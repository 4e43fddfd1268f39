#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "stores/cache/answer_cache.h"
#include "stores/forwarding_store.h"

namespace semel::stores {

// The last few thousand claims of which this process was told that they may have ended.
class EndedClaims {
 public:
  void add(const Token& token);
  bool has(const Token& token) const;

 private:
  mutable std::mutex mutex_;
  std::set<Token> tokens_;
  std::deque<Token> order_;
};

// Looks records up in a cache before it asks the store below. The store below decides everything:
// the cache can only say "this key is completed" or "it is being executed", which grants nothing to
// anybody. Its answer may be as old as it keeps records. A record that is about to expire, a claim
// whose lease has run out, and anything the cache is in doubt about are left to the store below.
class CachingStore final : public ForwardingStore {
 public:
  CachingStore(std::unique_ptr<Store> inner, std::unique_ptr<AnswerCache> cache)
      : ForwardingStore(std::move(inner)), cache_(std::move(cache)) {}

  // Returns a conflict at once for a claim of a key that the cache knows as completed or in
  // progress. read() is passed on, because whoever reads a record is about to change or show it.
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) override;
  // After it, the cache no longer answers with this claim: the store below is asked.
  boost::asio::awaitable<bool> ended(RecordId id, Token token, Duration timeout) override;

 private:
  bool may_answer(const Record& found, const Token& claiming, Time now) const;
  boost::asio::awaitable<void> learn(const Record& seen, AnswerCache::Asked asked, bool by_claim,
                                     Version expected);

  EndedClaims ended_;
  std::unique_ptr<AnswerCache> cache_;  // destroyed before the store below
};

}  // namespace semel::stores
