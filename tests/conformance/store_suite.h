#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "records.h"
#include "run.h"
#include "semel/driver/store.h"
#include "stores.h"

// The tests of the suite, and what they share. To run them against a store: stores.h.
namespace semel::conformance {

inline void PrintTo(const StoreUnderTest& store, std::ostream* out) {
  *out << store.name;
}

// Says in words what a swap returned.
std::string describe(const SwapResult& result);

class StoreSuite : public ::testing::TestWithParam<StoreUnderTest> {
 protected:
  StoreSuite() : harness_(GetParam().make()) {}
  void TearDown() override;

  // Names the promise that the test is about. A failure of the test repeats it.
  void promise(std::string_view text) { promise_ = text; }

  Store& store() { return harness_->store(); }
  void reopen() { harness_->reopen(); }
  void kill() { harness_->kill(); }

  // These fail the test, and throw, where the store does not answer.
  std::optional<Record> read(const RecordId& id);
  Record existing(const RecordId& id);
  SwapResult swap(const RecordId& id, Version expected, std::optional<Record> next);
  Version apply(const RecordId& id, Version expected, std::optional<Record> next);
  std::optional<Record> refused(const RecordId& id, Version expected, std::optional<Record> next);
  std::vector<RecordId> sweep(Time now, std::size_t limit = 100);
  std::vector<RecordId> scan(std::size_t page_size);
  // A shared store may say so a moment later.
  void expect_stats(std::uint64_t unknown_records, std::optional<Time> oldest_unknown);

 private:
  std::unique_ptr<StoreHarness> harness_;
  std::string promise_;
};

// Runs `work` on a thread of its own. What it throws fails the test. The destructor asks it to stop
// and waits for it.
class Beside {
 public:
  explicit Beside(std::function<void(const std::stop_token&)> work);
  ~Beside() { join(); }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  bool finished() const { return finished_; }
  void join();

 private:
  std::atomic<bool> finished_ = false;
  std::exception_ptr failed_;
  std::jthread thread_;
};

}  // namespace semel::conformance
