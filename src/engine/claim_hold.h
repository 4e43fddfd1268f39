#pragma once

#include <memory>
#include <mutex>

#include "core/transition.h"
#include "semel/engine.h"

namespace semel {

// What the copies of one claim share. With the last of them goes the right to execute: if the
// execution was not said to have ended by then (its coroutine was destroyed, something was thrown),
// the engine says that its outcome is unknown. It would be busy for the life of the process
// otherwise. If its end was being written, the engine goes on writing it.
class ClaimHold {
 public:
  enum class Stage {
    held,       // it may be executing
    ending,     // its outcome is being written
    listening,  // its outcome is recorded as unknown, and the answer may still come
    abandoned,  // nothing was executed; it is being given back
    ended,
  };

  // `engine` may be empty: of a claim that is not held here.
  ClaimHold(std::weak_ptr<Engine::Impl> engine, RecordPtr record, Policy policy)
      : engine_(std::move(engine)), record_(std::move(record)), policy_(std::move(policy)) {}
  ~ClaimHold();
  ClaimHold(const ClaimHold&) = delete;
  ClaimHold& operator=(const ClaimHold&) = delete;

  void ends(std::shared_ptr<Event> ending) {
    const std::lock_guard lock(mutex_);
    if (stage_ == Stage::ended) return;
    stage_ = Stage::ending;
    ending_ = std::move(ending);
  }
  // What `ending` says is recorded. A later one may be under way by now.
  void listens(const Event& ending) {
    const std::lock_guard lock(mutex_);
    if (stage_ == Stage::ending && ending_.get() == &ending) stage_ = Stage::listening;
  }
  void abandoned() { set(Stage::abandoned); }
  void ended() { set(Stage::ended); }

 private:
  void set(Stage stage) {
    const std::lock_guard lock(mutex_);
    stage_ = stage;
  }

  const std::weak_ptr<Engine::Impl> engine_;
  const RecordPtr record_;
  const Policy policy_;
  std::mutex mutex_;
  Stage stage_ = Stage::held;
  std::shared_ptr<Event> ending_;
};

}  // namespace semel
