#include "engine/watches.h"

#include <algorithm>

namespace semel::engine {

Watches::WatchPtr Watches::add(const RecordId& id, SteadyTime deadline) {
  auto watch = std::make_shared<Watch>();
  watch->id_ = id;
  watch->deadline_ = deadline;
  const std::lock_guard lock(mutex_);
  watches_[id].push_back(watch);
  ++size_;
  return watch;
}

void Watches::wait(const WatchPtr& watch, std::move_only_function<void()> handler) {
  {
    const std::lock_guard lock(mutex_);
    if (!watch->woken_) {
      watch->handler_ = std::move(handler);
      return;
    }
  }
  handler();
}

void Watches::remove(const WatchPtr& watch) {
  const std::lock_guard lock(mutex_);
  const auto found = watches_.find(watch->id_);
  if (found == watches_.end()) return;
  size_ -= std::erase(found->second, watch);
  if (found->second.empty()) watches_.erase(found);
}

void Watches::wake_locked(Watch& watch, Handlers& woken) {
  watch.woken_ = true;
  if (watch.handler_) woken.push_back(std::move(watch.handler_));
  watch.handler_ = nullptr;
}

void Watches::wake(const RecordId& id) {
  if (size_ == 0) return;
  Handlers woken;
  {
    const std::lock_guard lock(mutex_);
    const auto found = watches_.find(id);
    if (found == watches_.end()) return;
    for (const WatchPtr& watch : found->second) wake_locked(*watch, woken);
  }
  for (auto& handler : woken) handler();
}

void Watches::end(SteadyTime now) {
  if (size_ == 0) return;
  Handlers woken;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, watches] : watches_) {
      for (const WatchPtr& watch : watches) {
        if (watch->deadline_ <= now) wake_locked(*watch, woken);
      }
    }
  }
  for (auto& handler : woken) handler();
}

}  // namespace semel::engine
