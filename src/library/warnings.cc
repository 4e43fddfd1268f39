#include "library/warnings.h"

#include <fmt/format.h>

#include <cstdio>

namespace semel::library {
namespace {

constexpr Duration kTellAgainAfter = std::chrono::minutes(1);
constexpr std::size_t kTopicsMax = 64;

}  // namespace

bool Warnings::is_due(std::string_view topic) {
  const SteadyTime now = std::chrono::floor<Duration>(std::chrono::steady_clock::now());
  const std::lock_guard lock(mutex_);
  if (told_.size() >= kTopicsMax) told_.clear();
  const auto [entry, is_new] = told_.try_emplace(std::string(topic), now);
  if (!is_new && now - entry->second < kTellAgainAfter) return false;
  entry->second = now;
  return true;
}

void Warnings::tell(const std::string& what) noexcept {
  tell_repeating(what, what);
}

void Warnings::tell_repeating(std::string_view topic, const std::string& what) noexcept {
  try {
    if (!is_due(topic)) return;
    if (warn_) return warn_(what);
    std::fprintf(stderr, "semel: %s\n", what.c_str());
  } catch (...) {
    std::fputs("semel: a warning could not be told\n", stderr);
  }
}

void LibraryObserver::lease_lost(const RecordId& id) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = watched_.find(id); found != watched_.end()) *found->second = true;
  }
  warnings_.tell("the claim on " + id.hex() + " has passed to another one while it was executed");
}

void LibraryObserver::store_failed(std::string_view what, std::string_view why) {
  warnings_.tell_repeating(what, fmt::format("the store failed ({}): {}", what, why));
}

void LibraryObserver::clock_stepped(Duration by) {
  warnings_.tell_repeating("clock", fmt::format("the clock was set by {} ms", by.count()));
}

void LibraryObserver::watch(const RecordId& id, const std::shared_ptr<std::atomic<bool>>& lost) {
  const std::lock_guard lock(mutex_);
  watched_[id] = lost;
}

void LibraryObserver::forget(const RecordId& id, const std::shared_ptr<std::atomic<bool>>& lost) {
  const std::lock_guard lock(mutex_);
  const auto found = watched_.find(id);
  if (found != watched_.end() && found->second == lost) watched_.erase(found);
}

}  // namespace semel::library
