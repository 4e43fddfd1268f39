#pragma once

#include <memory>
#include <mutex>

#include "core/transition.h"
#include "semel/driver/engine.h"

namespace semel {

// State shared by the copies of one claim. The right to execute ends with the last copy. If the
// execution was not reported as ended by then (its coroutine was destroyed, or something was
// thrown), the engine records its outcome as unknown; otherwise the key would be busy for the life
// of the process. If its end was being written, the engine continues to write it.
class ClaimHold {
 public:
  enum class Stage {
    held,       // it may be executing
    ending,     // its outcome is being written
    listening,  // its outcome is recorded as unknown, and the answer may still come
    abandoned,  // nothing was executed; it is being given back
    ended,
  };

  // An empty `engine` is for a claim that is not held here.
  ClaimHold(std::weak_ptr<Engine::Impl> engine, RecordPtr record, Operation operation)
      : engine_(std::move(engine)), record_(std::move(record)), operation_(std::move(operation)) {}
  ~ClaimHold();
  ClaimHold(const ClaimHold&) = delete;
  ClaimHold& operator=(const ClaimHold&) = delete;

  void ends(std::shared_ptr<core::Event> ending) {
    const std::lock_guard lock(mutex_);
    if (stage_ == Stage::ended) return;
    stage_ = Stage::ending;
    ending_ = std::move(ending);
  }
  // The outcome in `ending` is recorded. A later one may be under way by now.
  void listens(const core::Event& ending) {
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
  const Operation operation_;
  std::mutex mutex_;
  Stage stage_ = Stage::held;
  std::shared_ptr<core::Event> ending_;
};

}  // namespace semel
