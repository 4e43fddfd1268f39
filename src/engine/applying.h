#pragma once

#include <optional>

#include "engine/confirm.h"
#include "engine/engine_impl.h"

namespace semel {

// Applies one event to a record: decides what it does to the record, writes and confirms it, and
// decides again if the record has changed. Does no I/O; its owner loops:
//
//   while (!applying.is_over()) {
//     applying.took(co_await store.swap(id, applying.expected(), applying.next()));
//     if (const auto pause = applying.pause()) co_await clock.sleep(*pause);
//   }
class Engine::Impl::Applying {
 public:
  // Begins with `known`, which may be out of date: a conflict returns the current record.
  Applying(Impl& engine, RecordPtr known, core::Event& event);
  Applying(const Applying&) = delete;
  Applying& operator=(const Applying&) = delete;

  bool is_over() const { return applied_.has_value(); }
  Applied take_result() { return *std::move(applied_); }

  Version expected() const { return confirm_.expected(); }
  const std::shared_ptr<Record>& next() const { return confirm_.next(); }
  void took(SwapResult result);
  // How long to wait before the next swap.
  std::optional<Duration> pause() { return std::exchange(pause_, std::nullopt); }

 private:
  void decide();
  void written(std::shared_ptr<Record> record);
  void wait_or_give_up();

  Impl& engine_;
  core::Event& event_;
  const RecordPtr begun_;
  RecordPtr known_;
  base::Backoff backoff_;
  const SteadyTime give_up_;
  const bool finishes_;

  // The last decision.
  Time decided_at_{};
  core::Verdict verdict_;
  bool keeps_ = false;    // the event is in the record already, and a write only proves it
  bool removes_ = false;  // no record is left
  engine::Confirm confirm_;

  std::optional<Duration> pause_;
  std::optional<Applied> applied_;
};

}  // namespace semel
