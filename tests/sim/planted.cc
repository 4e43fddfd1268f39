#include "sim/planted.h"

#include <map>
#include <set>
#include <utility>

#include "stores/forwarding_store.h"

namespace semel::sim {
namespace {

using boost::asio::awaitable;

class NoFence final : public stores::ForwardingStore {
 public:
  using stores::ForwardingStore::ForwardingStore;

  awaitable<SwapResult> swap(RecordId id, Version expected, std::shared_ptr<Record> next) override {
    if (next && next->state == RecordState::in_progress) mine_[id] = next->token;
    SwapResult result = co_await inner().swap(id, expected, std::move(next));
    if (auto* conflict = std::get_if<swap::Conflict>(&result)) make_mine(id, conflict->current);
    co_return result;
  }

 private:
  void make_mine(const RecordId& id, const std::shared_ptr<Record>& record) {
    const auto mine = mine_.find(id);
    if (record && mine != mine_.end()) record->token = mine->second;
  }

  std::map<RecordId, Token> mine_;
};

class UnknownIsSuccess final : public stores::ForwardingStore {
 public:
  using stores::ForwardingStore::ForwardingStore;

  awaitable<SwapResult> swap(RecordId id, Version expected, std::shared_ptr<Record> next) override {
    const bool removes = !next;
    SwapResult result = co_await inner().swap(id, expected, std::move(next));
    if (std::holds_alternative<swap::Unknown>(result)) {
      co_return swap::Applied{removes ? 0 : expected + 1};
    }
    co_return result;
  }
};

class TakeoverWithoutCas final : public stores::ForwardingStore {
 public:
  using stores::ForwardingStore::ForwardingStore;

  awaitable<SwapResult> swap(RecordId id, Version expected, std::shared_ptr<Record> next) override {
    const bool takes_over = next && next->state == RecordState::in_progress && next->attempt > 1 &&
                            claims_.insert(next->token).second;
    if (takes_over) {
      auto found = co_await inner().read(id);
      if (found && *found) expected = (*found)->version;
    }
    co_return co_await inner().swap(id, expected, std::move(next));
  }

 private:
  std::set<Token> claims_;
};

class RenewalsLost final : public stores::ForwardingStore {
 public:
  using stores::ForwardingStore::ForwardingStore;

  awaitable<SwapResult> swap(RecordId id, Version expected, std::shared_ptr<Record> next) override {
    const bool renews =
        next && next->state == RecordState::in_progress && held_.contains(next->token);
    if (renews) co_return swap::Applied{expected};
    const std::optional<Token> claims =
        next && next->state == RecordState::in_progress ? std::optional(next->token) : std::nullopt;
    SwapResult result = co_await inner().swap(id, expected, std::move(next));
    if (claims && std::holds_alternative<swap::Applied>(result)) held_.insert(*claims);
    co_return result;
  }

 private:
  std::set<Token> held_;
};

class NothingDue final : public stores::ForwardingStore {
 public:
  using stores::ForwardingStore::ForwardingStore;

  awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time, std::size_t) override {
    co_return std::vector<RecordPtr>();
  }
};

class StartWithoutCas final : public stores::ForwardingStore {
 public:
  using stores::ForwardingStore::ForwardingStore;

  awaitable<SwapResult> swap(RecordId id, Version expected, std::shared_ptr<Record> next) override {
    const bool starts = next && next->state == RecordState::in_progress && !next->request.empty() &&
                        claims_.insert(next->token).second;
    if (starts) {
      auto found = co_await inner().read(id);
      if (found && *found) expected = (*found)->version;
    }
    co_return co_await inner().swap(id, expected, std::move(next));
  }

 private:
  std::set<Token> claims_;
};

class FoundIsDurable final : public stores::ForwardingStore {
 public:
  using stores::ForwardingStore::ForwardingStore;

  awaitable<SwapResult> swap(RecordId id, Version expected, std::shared_ptr<Record> next) override {
    std::optional<Record> sent;
    if (next) sent = *next;
    SwapResult result = co_await inner().swap(id, expected, std::move(next));
    if (std::holds_alternative<swap::Unknown>(result)) unsure_[id] = sent;
    const auto* conflict = std::get_if<swap::Conflict>(&result);
    const auto unsure = unsure_.find(id);
    if (!conflict || !conflict->current || unsure == unsure_.end() || !unsure->second) {
      co_return result;
    }
    const Version version = conflict->current->version;
    unsure->second->version = version;
    if (*conflict->current == *unsure->second) co_return swap::Applied{version};
    co_return result;
  }

 private:
  std::map<RecordId, std::optional<Record>> unsure_;
};

class QueuedForgotten final : public stores::ForwardingStore {
 public:
  using stores::ForwardingStore::ForwardingStore;

  awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now, std::size_t limit) override {
    auto due = co_await inner().sweep(now, limit);
    if (due) std::erase_if(*due, is_queued);
    co_return due;
  }
  awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after, std::size_t limit) override {
    auto page = co_await inner().scan(after, limit);
    if (page) std::erase_if(page->records, is_queued);
    co_return page;
  }

 private:
  static bool is_queued(const RecordPtr& record) { return record->state == RecordState::queued; }
};

class ReleaseIsUnknown final : public stores::ForwardingStore {
 public:
  using stores::ForwardingStore::ForwardingStore;

  awaitable<SwapResult> swap(RecordId id, Version expected, std::shared_ptr<Record> next) override {
    if (next && next->state == RecordState::released) next->state = RecordState::unknown;
    co_return co_await inner().swap(id, expected, std::move(next));
  }
};

}  // namespace

std::unique_ptr<Store> make_planted(Plant plant, std::unique_ptr<Store> inner) {
  switch (plant) {
    case Plant::none:
      return inner;
    case Plant::no_fence:
      return std::make_unique<NoFence>(std::move(inner));
    case Plant::unknown_is_success:
      return std::make_unique<UnknownIsSuccess>(std::move(inner));
    case Plant::takeover_without_cas:
      return std::make_unique<TakeoverWithoutCas>(std::move(inner));
    case Plant::renewals_lost:
      return std::make_unique<RenewalsLost>(std::move(inner));
    case Plant::nothing_due:
      return std::make_unique<NothingDue>(std::move(inner));
    case Plant::start_without_cas:
      return std::make_unique<StartWithoutCas>(std::move(inner));
    case Plant::found_is_durable:
      return std::make_unique<FoundIsDurable>(std::move(inner));
    case Plant::queued_forgotten:
      return std::make_unique<QueuedForgotten>(std::move(inner));
    case Plant::release_is_unknown:
      return std::make_unique<ReleaseIsUnknown>(std::move(inner));
  }
  return inner;
}

}  // namespace semel::sim
