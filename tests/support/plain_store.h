#pragma once

#include <deque>
#include <stdexcept>
#include <utility>

#include "support/model_store.h"
#include "support/virtual_time.h"

namespace semel::support {

// A store that takes a millisecond for everything and does what a test tells it to.
class PlainStore final : public Store {
 public:
  enum class Fault {
    none,
    unavailable,  // nothing written
    lost_reply,   // written, fate unknown
    lost_write,   // not written, fate unknown
    thrown,       // written, and something is thrown
    held,         // not written: somebody holds the record in an open transaction
  };

  explicit PlainStore(VirtualTime& time) : time_(time) {}

  // Faults for the next swaps, in their order.
  void next_swaps(std::initializer_list<Fault> faults) { faults_.insert(faults_.end(), faults); }
  // Done just before the next swap reaches the store: what crosses it on its way.
  void before_next_swap(std::function<void()> crossing) { crossing_ = std::move(crossing); }
  void set_down(bool down) { down_ = down; }
  void set_exclusive(bool exclusive) { exclusive_ = exclusive; }
  // From now on it has a clock of its own, and this is its time.
  void set_now(Time now) { now_ = now; }
  void set_doubts(StoreDoubts doubts) { doubts_ = doubts; }
  void set_body_bytes_max(std::size_t bytes) { body_bytes_max_ = bytes; }

  ModelStore& model() { return model_; }
  int swaps() const { return swaps_; }
  int reads() const { return reads_; }

  boost::asio::awaitable<StoreResult<RecordPtr>> read(RecordId id) override {
    co_await time_.pause(kLane, kLatency);
    ++reads_;
    if (down_) co_return std::unexpected(StoreUnavailable{"down"});
    co_return shared(model_.read(id));
  }

  RecordPtr cached_completed(const RecordId& id) override {
    const auto found = model_.read(id);
    if (!found || found->state != RecordState::completed) return nullptr;
    return shared(found);
  }

  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) override {
    co_await time_.pause(kLane, kLatency);
    ++swaps_;
    if (crossing_) std::exchange(crossing_, nullptr)();
    Fault fault = down_ ? Fault::unavailable : Fault::none;
    if (!faults_.empty()) {
      fault = faults_.front();
      faults_.pop_front();
    }
    if (fault == Fault::unavailable) co_return StoreUnavailable{"down"};
    if (fault == Fault::held) co_return swap::Busy{shared(model_.read(id))};
    if (fault == Fault::lost_write) co_return swap::Unknown{"no reply"};
    if (next && next->answer.body.size() > body_bytes_max_) {
      co_return swap::TooLarge{body_bytes_max_};
    }
    SwapResult result = model_.swap(id, expected, value_of(next));
    if (fault == Fault::lost_reply) co_return swap::Unknown{"no reply"};
    if (fault == Fault::thrown) throw std::runtime_error("the store threw");
    co_return result;
  }

  boost::asio::awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now,
                                                                    std::size_t limit) override {
    co_await time_.pause(kLane, kLatency);
    if (down_) co_return std::unexpected(StoreUnavailable{"down"});
    co_return model_.sweep(now, limit);
  }

  boost::asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                                     std::size_t limit) override {
    co_await time_.pause(kLane, kLatency);
    if (down_) co_return std::unexpected(StoreUnavailable{"down"});
    co_return model_.scan(after, limit);
  }

  std::optional<Time> now() const override { return now_; }
  StoreFeatures features() const override {
    return {.exclusive = exclusive_, .durable = true, .record_bytes_max = body_bytes_max_};
  }
  StoreStats stats() const override { return {}; }
  StoreDoubts doubts() const override { return doubts_; }
  std::optional<std::string> trouble() const override { return {}; }

 private:
  static constexpr VirtualTime::Lane kLane = 0;
  static constexpr Duration kLatency{1};

  VirtualTime& time_;
  ModelStore model_;
  std::deque<Fault> faults_;
  std::function<void()> crossing_;
  bool down_ = false;
  std::optional<Time> now_;
  StoreDoubts doubts_;
  bool exclusive_ = false;
  std::size_t body_bytes_max_ = 1 << 20;
  int swaps_ = 0;
  int reads_ = 0;
};

}  // namespace semel::support
