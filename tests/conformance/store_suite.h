#pragma once

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "semel/store.h"
#include "support/records.h"
#include "support/run.h"

// What every store must do, whatever it is made of. To try a store of your own, compile the
// store_suite*.cc files into a test and add
//
//   INSTANTIATE_TEST_SUITE_P(Mine, StoreSuite, testing::Values(StoreUnderTest{"mine", make}));
namespace semel {

// An empty store, and what belongs to it.
class StoreHarness {
 public:
  virtual ~StoreHarness() = default;
  virtual Store& store() = 0;
  // Closes the store and opens it again, as a restart does.
  virtual void reopen() = 0;
};

struct StoreUnderTest {
  std::string name;
  std::function<std::unique_ptr<StoreHarness>()> make;
};
inline void PrintTo(const StoreUnderTest& store, std::ostream* out) {
  *out << store.name;
}

// Some id; the ids of growing numbers are in no order.
RecordId id_of(std::uint64_t number);

// All times in the suite are around this one. It lies in the future, so that a store which lets
// the server remove what is due does not do so during a test.
inline constexpr Time kThen{std::chrono::sys_days{std::chrono::year{2100} / 1 / 1}};

// A claim with every field set to something, whose lease ends an hour after kThen.
Record claim_of(const RecordId& id);
// The same, completed; its ttl ends at `expires_at`.
Record completion_of(const RecordId& id, Time expires_at);
Record unknown_of(const RecordId& id, Time since);

class StoreSuite : public ::testing::TestWithParam<StoreUnderTest> {
 protected:
  StoreSuite() : harness_(GetParam().make()) {}

  Store& store() { return harness_->store(); }
  void reopen() { harness_->reopen(); }

  // These fail the test, and throw, where the store does not answer.
  std::optional<Record> read(const RecordId& id);
  SwapResult swap(const RecordId& id, Version expected, std::optional<Record> next);
  Version apply(const RecordId& id, Version expected, std::optional<Record> next);
  std::optional<Record> refused(const RecordId& id, Version expected, std::optional<Record> next);
  std::vector<RecordId> sweep(Time now, std::size_t limit = 100);
  std::vector<RecordId> scan(std::size_t page_size);
  // A shared store may say so a moment later.
  void expect_stats(std::uint64_t unknown_records, std::optional<Time> oldest_unknown);

 private:
  std::unique_ptr<StoreHarness> harness_;
};

}  // namespace semel
