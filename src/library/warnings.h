#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "library/face.h"
#include "semel/driver/engine.h"

namespace semel::library {

// Tells the program what its operator should know: each thing at most once a minute.
class Warnings {
 public:
  explicit Warnings(std::function<void(std::string_view)> warn) : warn_(std::move(warn)) {}
  void tell(const std::string& what) noexcept;
  // Counts all sentences of one topic as one thing: they repeat, with reasons that change, while
  // something is broken.
  void tell_repeating(std::string_view topic, const std::string& what) noexcept;

 private:
  bool is_due(std::string_view topic);

  const std::function<void(std::string_view)> warn_;
  std::mutex mutex_;
  std::unordered_map<std::string, SteadyTime> told_;
};

// Hears of the driver's engine: of claims that were lost to another one, and of trouble.
class LibraryObserver final : public Observer {
 public:
  explicit LibraryObserver(Warnings& warnings) : warnings_(warnings) {}
  void transitioned(const Record*, const Record*, Time) override {}
  void lease_lost(const RecordId& id) override;
  void store_failed(std::string_view what, std::string_view why) override;
  void clock_stepped(Duration by) override;

  // Sets the flag if the claim on this record is lost.
  void watch(const RecordId& id, const std::shared_ptr<std::atomic<bool>>& lost);
  void forget(const RecordId& id, const std::shared_ptr<std::atomic<bool>>& lost);

 private:
  Warnings& warnings_;
  std::mutex mutex_;
  std::unordered_map<RecordId, std::shared_ptr<std::atomic<bool>>> watched_;
};

}  // namespace semel::library
