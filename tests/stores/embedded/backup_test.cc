// Backups of an embedded store that is written to meanwhile.
#include "stores/embedded/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "stores/embedded/check.h"
#include "stores/embedded/db.h"
#include "stores/embedded_harness.h"

namespace semel::stores {
namespace {

using testing::HasSubstr;

class EmbeddedBackup : public testing::Test {
 protected:
  ScratchDirectory directory_;
  EmbeddedOptions options_{.path = directory_.path() / "store", .sync = false};

  static Record completed(std::uint64_t number, std::size_t bytes) {
    Record record;
    for (std::size_t i = 0; i < sizeof number; ++i) {
      record.id.bytes[i] = static_cast<std::uint8_t>(number * 0x9e3779b97f4a7c15U >> 8 * i);
    }
    record.state = RecordState::completed;
    record.expires_at = Time(Duration(std::int64_t{1} << 50));
    record.answer.status = 200;
    // Does not compress, so that tables and logs grow.
    record.answer.body.resize(bytes);
    std::uint64_t state = number + 1;
    for (char& byte : record.answer.body) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      byte = static_cast<char>(state >> 56);
    }
    return record;
  }
};

// Each memtable of 32 MiB begins a new log, so logs and tables change while the backups are made.
TEST_F(EmbeddedBackup, HasWhatWasAppliedBeforeWhileLogsAndTablesChange) {
  constexpr std::uint64_t kRecords = 1000;
  constexpr std::size_t kBytes = 100'000;
  constexpr int kBackups = 4;
  const auto store = open_or_throw(options_);
  std::atomic<std::uint64_t> applied = 0;
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      const Record record = completed(i, kBytes);
      const SwapResult made = run(store->swap(record.id, 0, std::make_shared<Record>(record)));
      EXPECT_TRUE(std::holds_alternative<swap::Applied>(made));
      applied = i + 1;
    }
  });
  std::vector<std::uint64_t> known;
  for (int i = 0; i < kBackups; ++i) {
    while (applied < kRecords / kBackups * static_cast<unsigned>(i)) std::this_thread::yield();
    known.push_back(applied);
    const std::string to = directory_.path() / ("backup" + std::to_string(i));
    const auto made = run(store->backup(to));
    ASSERT_TRUE(made) << made.error();
  }
  writer.join();
  for (int i = 0; i < kBackups; ++i) {
    const auto from = directory_.path() / ("backup" + std::to_string(i));
    const auto to = directory_.path() / ("restored" + std::to_string(i));
    const auto restored = restore_backup(from, to);
    ASSERT_TRUE(restored) << restored.error();
    const auto checked = check_embedded_store(to);
    ASSERT_TRUE(checked) << checked.error();
    EXPECT_THAT(checked->findings, testing::IsEmpty());
    const auto again = open_or_throw({.path = to});
    for (std::uint64_t n = 0; n < known[static_cast<std::size_t>(i)]; ++n) {
      const auto found = run(again->read(completed(n, 0).id));
      ASSERT_TRUE(found && *found) << "backup " << i << ", record " << n;
    }
    std::filesystem::remove_all(to);
  }
}

TEST_F(EmbeddedBackup, GivesOutNoVersionAgainForARecordThatItHas) {
  Version last = 0;
  const Record record = completed(1, 10);
  {
    const auto store = open_or_throw(options_);
    const SwapResult made = run(store->swap(record.id, 0, std::make_shared<Record>(record)));
    last = std::get<swap::Applied>(made).version;
    ASSERT_TRUE(run(store->backup(directory_.path() / "backup")));
  }
  ASSERT_TRUE(restore_backup(directory_.path() / "backup", directory_.path() / "restored"));
  const auto again = open_or_throw({.path = directory_.path() / "restored"});
  const SwapResult next = run(again->swap(record.id, last, std::make_shared<Record>(record)));
  EXPECT_GT(std::get<swap::Applied>(next).version, last);
}

TEST_F(EmbeddedBackup, LeavesNothingBehindIfItGivesUp) {
  const auto db = EmbeddedDb::open(options_);
  ASSERT_TRUE(db);
  const auto made = (*db)->backup(directory_.path() / "backup", GiveUp(true));
  EXPECT_THAT(made.error(), HasSubstr("given up"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "backup"));
}

TEST_F(EmbeddedBackup, KeepsTheStoresOwnSpaceFree) {
  options_.free_bytes_min = std::uint64_t{1} << 60;
  const auto db = EmbeddedDb::open(options_);
  ASSERT_TRUE(db);
  const auto made = (*db)->backup(directory_.path() / "backup", GiveUp(false));
  EXPECT_THAT(made.error(), HasSubstr("MiB are needed on its disk"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "backup"));
}

}  // namespace
}  // namespace semel::stores
