#include "stores/cleanup_window.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "stores/embedded_harness.h"
#include "stores/memory_store.h"
#include "stores/suite.h"

namespace semel::stores {
namespace {

using namespace std::chrono_literals;

// The machine's time zone, as long as this lives.
class LocalZone {
 public:
  explicit LocalZone(const char* name) {
    setenv("TZ", name, 1);
    tzset();
  }
  ~LocalZone() {
    unsetenv("TZ");
    tzset();
  }
};

constexpr Time kMidnight{Duration(1'767'225'600'000)};  // 2026-01-01 00:00 UTC

TEST(CleanupWindow, IsReadAsTwoTimesOfTheDay) {
  EXPECT_EQ(parse_cleanup_window("02:00-05:30"), (CleanupWindow{2h, 5h + 30min}));
  EXPECT_EQ(parse_cleanup_window("22:15-24:00"), (CleanupWindow{22h + 15min, 24h}));
  for (const char* wrong : {"", "02:00", "2:00-5:00", "02:00-25:00", "02:60-05:00", "24:01-05:00",
                            "02:00-05:00 ", "02.00-05.00", "ab:cd-ef:gh", "02:00-05:00-06:00"}) {
    EXPECT_FALSE(parse_cleanup_window(wrong)) << wrong;
  }
  EXPECT_EQ(parse_cleanup_window("03:00-03:00").error(),
            "ends when it begins; write always for the whole day");
}

TEST(CleanupWindow, GoesByLocalTime) {
  const LocalZone zone("EST5");
  const CleanupWindow window{2h, 5h};
  EXPECT_FALSE(window.contains(kMidnight + 3h));  // 22:00 there
  EXPECT_FALSE(window.contains(kMidnight + 7h - 1ms));
  EXPECT_TRUE(window.contains(kMidnight + 7h));
  EXPECT_TRUE(window.contains(kMidnight + 10h - 1ms));
  EXPECT_FALSE(window.contains(kMidnight + 10h));
}

TEST(CleanupWindow, GoesOnAfterMidnight) {
  const LocalZone zone("UTC0");
  const CleanupWindow window{23h, 1h};
  EXPECT_TRUE(window.contains(kMidnight));
  EXPECT_TRUE(window.contains(kMidnight + 59min));
  EXPECT_FALSE(window.contains(kMidnight + 1h));
  EXPECT_FALSE(window.contains(kMidnight + 23h - 1ms));
  EXPECT_TRUE(window.contains(kMidnight + 23h));
}

class Cleaning : public testing::TestWithParam<bool> {
 protected:
  const LocalZone zone_{"UTC0"};
  ScratchDirectory directory_;
  EmbeddedOptions options_{.path = directory_.path() / "store", .cleanup = CleanupWindow{2h, 5h}};
  std::unique_ptr<Store> store_ = open();

  std::unique_ptr<Store> open() const {
    if (GetParam()) return open_or_throw(options_);
    return std::make_unique<MemoryStore>(options_.cleanup);
  }

  RecordId put(std::uint8_t number, RecordState state, Time due) {
    Record record;
    record.id.bytes[0] = number;
    record.state = state;
    record.updated_at = kMidnight;
    record.lease_until = record.expires_at = record.hold_until = record.tombstone_until = due;
    const SwapResult made = run(store_->swap(record.id, 0, std::make_shared<Record>(record)));
    EXPECT_TRUE(std::holds_alternative<swap::Applied>(made));
    return record.id;
  }
  std::vector<std::uint8_t> swept(Time now, std::size_t limit = 100) {
    std::vector<std::uint8_t> numbers;
    const auto due = run(store_->sweep(now, limit));
    for (const RecordPtr& record : *due) {
      numbers.push_back(record->id.bytes[0]);
    }
    return numbers;
  }
};

using Numbers = std::vector<std::uint8_t>;

TEST_P(Cleaning, LeavesExpiredRecordsUntilItsHours) {
  put(1, RecordState::completed, kMidnight + 1min);
  put(2, RecordState::released, kMidnight + 2min);
  put(3, RecordState::unknown, kMidnight + 3min);
  put(4, RecordState::tombstone, kMidnight + 4min);
  EXPECT_EQ(swept(kMidnight + 1h), Numbers{});
  EXPECT_EQ(swept(kMidnight + 2h - 1ms), Numbers{});
  EXPECT_EQ(swept(kMidnight + 2h), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(swept(kMidnight + 2h, 2), (Numbers{1, 2}));
  EXPECT_EQ(swept(kMidnight + 5h), Numbers{});
  EXPECT_EQ(swept(kMidnight + 26h), (Numbers{1, 2, 3, 4}));
}

TEST_P(Cleaning, LooksAfterWorkAtAnyHour) {
  for (std::uint8_t number = 1; number <= 50; ++number) {
    put(number, RecordState::completed, kMidnight + 1min);
  }
  put(100, RecordState::in_progress, kMidnight + 10min);
  put(101, RecordState::queued, kMidnight + 20min);
  // However few are asked for, expired records do not stand in the way.
  EXPECT_EQ(swept(kMidnight + 1h, 1), (Numbers{100}));
  EXPECT_EQ(swept(kMidnight + 1h), (Numbers{100, 101}));
  EXPECT_EQ(swept(kMidnight + 1h), (Numbers{100, 101}));  // they are still due
  put(102, RecordState::in_progress, kMidnight + 5min);
  EXPECT_EQ(swept(kMidnight + 1h), (Numbers{102, 100, 101}));
  EXPECT_EQ(swept(kMidnight + 3h).size(), 53u);
}

INSTANTIATE_TEST_SUITE_P(Stores, Cleaning, testing::Bool(), [](const auto& embedded) {
  return embedded.param ? "Embedded" : "Memory";
});

}  // namespace
}  // namespace semel::stores
