#pragma once

#include <cstdint>
#include <memory>

#include "semel/driver/store.h"

// Writes one record, and makes sure that it is written.
//
// The promise: `durable` is returned only after the store has acknowledged a swap. A write that is
// seen in the store without an acknowledgement may still be on its way to the disk or to a replica,
// so it is swapped with itself. Without that, a claim that a crash forgets would be executed, and
// the key would run twice.
//
// No I/O and no allocation: the owner makes each swap and passes the result to took().
namespace semel::engine {

class Confirm {
 public:
  // How a write whose acknowledgement was lost is recognized in the store.
  enum class Mark : std::uint8_t {
    token,    // a claim: no other write has its token
    content,  // any other change: the record there is equal in everything but its version
  };

  enum class Step : std::uint8_t {
    durable,  // next() is in the store, at its version
    gone,     // there is no record, after a removal whose acknowledgement was lost
    again,    // swap at once: the write was seen, and a second write proves it
    later,    // swap again after a pause: the write may have landed, or may still land
    lost,     // nothing was written; take_found() is there instead
    ended,    // Mark::token: the claim landed, and somebody has ended it since; see take_found()
    held,     // nothing was written; an open transaction holds the record
    unavailable,  // nothing was written; the store cannot be reached
    too_large,    // nothing was written; the record is too large for the store
  };

  Confirm() = default;
  // Whether an earlier write in the same place may have landed, or may still land.
  enum class Before : std::uint8_t { nothing, unsure };
  // Writes `next` (null: removes the record) in place of version `replaces`.
  Confirm(Mark mark, std::shared_ptr<Record> next, Version replaces,
          Before before = Before::nothing)
      : next_(std::move(next)),
        expected_(replaces),
        mark_(mark),
        unsure_(before == Before::unsure) {}

  // The swap to make next.
  Version expected() const { return expected_; }
  const std::shared_ptr<Record>& next() const { return next_; }

  // Takes in the result of that swap.
  Step took(SwapResult& result);

  // A removal cannot be repeated. After `gone`, proves it by writing `next` where nothing is.
  void prove_removal_by(std::shared_ptr<Record> next) {
    next_ = std::move(next);
    expected_ = 0;
  }

  // After `lost`, `ended` or `held`: the record that is in the store; null: none.
  std::shared_ptr<Record> take_found() { return std::move(found_); }
  std::shared_ptr<Record> take_next() { return std::move(next_); }
  // The write may have landed, or may still land.
  bool is_unsure() const { return unsure_; }
  // The write was seen in the store, so others may have seen it too.
  bool was_seen() const { return seen_; }

 private:
  Step conflicts(std::shared_ptr<Record> current);

  std::shared_ptr<Record> next_;
  std::shared_ptr<Record> found_;
  Version expected_ = 0;
  Mark mark_ = Mark::content;
  bool unsure_ = false;
  bool seen_ = false;
};

}  // namespace semel::engine
