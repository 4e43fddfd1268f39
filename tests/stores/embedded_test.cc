// Promises of the embedded store alone: opening, refusing to open, grouping, and stopping.
#include "stores/embedded/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <sys/stat.h>

#include <boost/asio/detached.hpp>
#include <fstream>
#include <numeric>
#include <variant>

#include "base/hex.h"
#include "stores/embedded/layout.h"
#include "stores/embedded_harness.h"
#include "stores/faulty_files.h"

namespace semel::stores {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

Version apply(Store& store, const RecordId& id, Version expected, std::optional<Record> next) {
  const SwapResult result = run(store.swap(id, expected, shared(std::move(next))));
  return std::get<swap::Applied>(result).version;
}

std::string refusal(const EmbeddedOptions& options) {
  auto store = open_embedded_store(options);
  return store ? "it opened" : store.error();
}

// Golden in tests/core/codec_test.cc.
constexpr std::string_view kRecordOfSecondFormat =
    "020400280211111111111111111111111111111111016e03000000000000000500000000000000060000000000"
    "0000070000000000000008000000000000000900000000000000ffffffffffffff7f0a000000000000000b0000"
    "0000000000ffffffffffffff7f0300000022222222222222222222222222222222222222222222222222222222"
    "2222222201040000000000000001720000000001310000000174016f016b010c00000000000000040201683333"
    "33333333333333333333333333330171016b01730d01680e743248";

// The store's database, without the store.
class RawDatabase {
 public:
  explicit RawDatabase(const fs::path& path, std::uint64_t table_bytes = 64 << 20) {
    rocksdb::ColumnFamilyOptions plain;
    plain.compression = rocksdb::kNoCompression;
    plain.target_file_size_base = table_bytes;
    const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
        {rocksdb::kDefaultColumnFamilyName, plain},
        {std::string(kRecordsFamily), plain},
        {std::string(kIndexFamily), plain},
        {std::string(kChunksFamily), plain}};
    rocksdb::DB* db = nullptr;
    const auto status = rocksdb::DB::Open({}, path.string(), families, &families_, &db);
    if (!status.ok()) throw std::runtime_error(status.ToString());
    db_.reset(db);
  }
  ~RawDatabase() {
    for (auto* family : families_) db_->DestroyColumnFamilyHandle(family);
  }

  void put_format(std::uint32_t format) {
    db_->Put({}, families_[0], kFormatKey, number_bytes(format, kFormatBytes));
  }
  std::uint64_t format() {
    std::string value;
    EXPECT_TRUE(db_->Get({}, families_[0], kFormatKey, &value).ok());
    return parse_number(value, kFormatBytes).value_or(0);
  }
  void become_version_1() {
    put_format(1);
    ASSERT_TRUE(db_->DropColumnFamily(families_[3]).ok());
  }
  // Rewrites all records into tables of `table_bytes`, and says how many there are.
  std::size_t rewrite_records() {
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    EXPECT_TRUE(db_->CompactRange(options, families_[1], nullptr, nullptr).ok());
    rocksdb::ColumnFamilyMetaData tables;
    db_->GetColumnFamilyMetaData(families_[1], &tables);
    return tables.file_count;
  }
  void empty_value(const RecordId& id) {
    ASSERT_TRUE(db_->Put({}, families_[1], core::bytes_of(id), "").ok());
  }
  // Replaces the record behind its version and its times.
  void put_encoding(const RecordId& id, std::string_view encoding) {
    constexpr std::size_t kNumbersBytes = 3 * sizeof(std::uint64_t);
    std::string value;
    ASSERT_TRUE(db_->Get({}, families_[1], core::bytes_of(id), &value).ok());
    value.replace(kNumbersBytes, value.npos, encoding);
    ASSERT_TRUE(db_->Put({}, families_[1], core::bytes_of(id), value).ok());
  }
  void flip_last_bit(const RecordId& id) {
    std::string value;
    ASSERT_TRUE(db_->Get({}, families_[1], core::bytes_of(id), &value).ok());
    value.back() ^= 1;
    ASSERT_TRUE(db_->Put({}, families_[1], core::bytes_of(id), value).ok());
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

class EmbeddedTest : public testing::Test {
 protected:
  ScratchDirectory directory_;
  EmbeddedOptions options_{.path = directory_.path() / "store"};
};

TEST_F(EmbeddedTest, MakesItsDirectoryForItsOwnerOnly) {
  options_.path = directory_.path() / "not" / "there" / "yet" / "";  // with a slash at its end
  open_or_throw(options_);
  struct stat status{};
  ASSERT_EQ(stat(options_.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700);
}

mode_t mode_of(const fs::path& path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST_F(EmbeddedTest, ClosesADirectoryThatOthersMayEnter) {
  open_or_throw(options_);
  const fs::path from_before = options_.path / "IDENTITY";
  ASSERT_EQ(chmod(from_before.c_str(), 0644), 0);
  std::vector<std::string> warnings;
  options_.warn = [&](const std::string& why) { warnings.push_back(why); };
  for (const mode_t mode : {0755U, 0750U, 0710U, 0701U}) {
    ASSERT_EQ(chmod(options_.path.c_str(), mode), 0);
    open_or_throw(options_);
    EXPECT_EQ(mode_of(options_.path), 0700);
  }
  EXPECT_EQ(mode_of(from_before), 0600);
  ASSERT_EQ(warnings.size(), 4);
  EXPECT_THAT(warnings.front(), HasSubstr("other users could enter it"));
  open_or_throw(options_);
  EXPECT_EQ(warnings.size(), 4) << "it is closed now";
}

// More than any disk has: as if it were nearly full.
TEST_F(EmbeddedTest, WithLittleFreeSpaceOnlyWhatIsThereGoesOn) {
  const RecordId running = id_of(1);
  const RecordId done = id_of(2);
  Version claimed = 0;
  {
    const auto store = open_or_throw(options_);
    claimed = apply(*store, running, 0, claim_of(running));
    apply(*store, done, 0, completion_of(done, kNever));
  }
  options_.free_bytes_min = std::uint64_t{1} << 60;
  const auto store = open_or_throw(options_);
  const SwapResult fresh = run(store->swap(id_of(3), 0, shared(claim_of(id_of(3)))));
  EXPECT_THAT(std::get<StoreUnavailable>(fresh).why, HasSubstr("store.free_bytes_min"));
  EXPECT_FALSE(std::get<StoreUnavailable>(fresh).unreadable);
  EXPECT_FALSE(run(store->read(id_of(3))).value());
  EXPECT_FALSE(run(store->put_chunk(running, Token{}, 0, "x")));

  EXPECT_TRUE(run(store->read(done)).value());
  EXPECT_TRUE(
      std::holds_alternative<swap::Conflict>(run(store->swap(done, 0, shared(claim_of(done))))));
  EXPECT_GT(apply(*store, running, claimed, completion_of(running, kNever)), claimed);
  EXPECT_EQ(store->trouble(), std::nullopt);
}

TEST_F(EmbeddedTest, IsOpenInOnePlaceOnly) {
  const auto store = open_or_throw(options_);
  EXPECT_THAT(refusal(options_), HasSubstr("another semel has it open"));
  EXPECT_THAT(refusal(options_), HasSubstr(options_.path.string()));
}

TEST_F(EmbeddedTest, IsOpenInOnePlaceOnlyThoughItsLockFileIsDeleted) {
  const auto store = open_or_throw(options_);
  ASSERT_TRUE(fs::remove(options_.path / "LOCK"));
  EXPECT_THAT(refusal(options_), HasSubstr("another semel has it open"));
}

// Killed while RocksDB made the database: nothing was in it yet.
TEST_F(EmbeddedTest, AStoreWhoseMakingWasCutShortIsMade) {
  fs::create_directory(options_.path);
  fs::permissions(options_.path, fs::perms::owner_all);
  std::ofstream(options_.path / "IDENTITY") << "x";
  std::ofstream(options_.path / "MANIFEST-000001") << "half of it";
  std::ofstream(options_.path / "LOG") << "";
  std::ofstream(options_.path / "semel.log") << "a log of another kind";
  const auto store = open_or_throw(options_);
  EXPECT_GT(apply(*store, id_of(1), 0, claim_of(id_of(1))), 0U);
}

TEST_F(EmbeddedTest, RefusesAFile) {
  std::ofstream(options_.path) << "not a store";
  EXPECT_THAT(refusal(options_), HasSubstr("is not a directory"));
}

TEST_F(EmbeddedTest, RefusesAPlaceItCannotWrite) {
  options_.path = "/proc/self/store";
  EXPECT_THAT(refusal(options_), HasSubstr("cannot create the directory"));
}

TEST_F(EmbeddedTest, RefusesANewerFormat) {
  open_or_throw(options_);
  RawDatabase(options_.path).put_format(kEmbeddedFormat + 1);
  EXPECT_THAT(refusal(options_), HasSubstr("written by a newer semel"));
}

// As version 1 left it: three column families.
TEST_F(EmbeddedTest, OpensAnOlderFormatAndGoesOnFromIt) {
  const RecordId id = id_of(1);
  const Version version = apply(*open_or_throw(options_), id, 0, completion_of(id, kNever));
  RawDatabase(options_.path).become_version_1();
  {
    const auto store = open_or_throw(options_);
    EXPECT_EQ((*run(store->read(id)))->answer.body, completion_of(id, kNever).answer.body);
    EXPECT_GT(apply(*store, id, version, claim_of(id)), version);
    EXPECT_TRUE(run(store->put_chunk(id, Token{}, 0, "x")));
  }
  EXPECT_EQ(RawDatabase(options_.path).format(), kEmbeddedFormat);
}

// A record as a release wrote it that knew no descriptions, byte for byte.
TEST_F(EmbeddedTest, ReadsARecordOfAnEarlierFormatAndWritesOnFromIt) {
  const RecordId id = id_of(1);
  const Version version = apply(*open_or_throw(options_), id, 0, completion_of(id, kNever));
  RawDatabase(options_.path).put_encoding(id, base::decode_hex(kRecordOfSecondFormat).value());
  const auto store = open_or_throw(options_);
  Record found = **run(store->read(id));
  EXPECT_EQ(found.state, RecordState::released);
  EXPECT_EQ(found.request, "q");
  EXPECT_EQ(found.description, Description{});
  found.description = {"POST", "/v1/charges", {{"/amount", "4200"}}};
  apply(*store, id, version, found);
  EXPECT_EQ((*run(store->read(id)))->description, found.description);
}

TEST_F(EmbeddedTest, RefusesAForeignDatabase) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, options_.path.string(), &db).ok());
  ASSERT_TRUE(db->Put({}, "key", "value").ok());
  delete db;
  EXPECT_THAT(refusal(options_), HasSubstr("not semel's"));
}

// RocksDB keeps some 250 tables open. Of any other a read that must not touch the disk says no more
// than that the key may be there.
TEST_F(EmbeddedTest, TablesThatAreNotOpenAreNoDamage) {
  constexpr std::uint64_t kRecords = 600;
  constexpr std::size_t kTableBytes = 4096;
  options_.sync = false;
  {
    const auto store = open_or_throw(options_);
    for (std::uint64_t n = 0; n < kRecords; ++n) {
      Record record = completion_of(id_of(n), kNever);
      record.answer.body.resize(kTableBytes, 'x');
      apply(*store, record.id, 0, std::move(record));
    }
  }
  ASSERT_GT(RawDatabase(options_.path, kTableBytes).rewrite_records(), 280);
  const auto store = open_or_throw(options_);
  std::size_t found = 0;
  std::size_t replayed = 0;
  std::size_t claimed = 0;
  for (std::uint64_t n = 0; n < kRecords; ++n) {
    const auto read = run(store->read(id_of(n)));
    found += read && *read;
    const SwapResult retry = run(store->swap(id_of(n), 0, shared(claim_of(id_of(n)))));
    replayed += std::holds_alternative<swap::Conflict>(retry);
    const RecordId fresh = id_of(kRecords + n);
    claimed +=
        std::holds_alternative<swap::Applied>(run(store->swap(fresh, 0, shared(claim_of(fresh)))));
  }
  EXPECT_EQ(found, kRecords);
  EXPECT_EQ(replayed, kRecords);
  EXPECT_EQ(claimed, kRecords);
}

TEST_F(EmbeddedTest, AnEmptyValueIsDamage) {
  const RecordId id = id_of(1);
  apply(*open_or_throw(options_), id, 0, claim_of(id));
  RawDatabase(options_.path).empty_value(id);
  const auto store = open_or_throw(options_);
  EXPECT_TRUE(run(store->read(id)).error().unreadable);
  const SwapResult claimed = run(store->swap(id, 0, shared(claim_of(id))));
  EXPECT_THAT(std::get<StoreUnavailable>(claimed).why, HasSubstr(id.hex()));
}

// Chunks of what never came to be recorded go as the store is opened; those of a record that cannot
// be decoded stay, or its repair would have nothing to go back to.
TEST_F(EmbeddedTest, ChunksOfADamagedRecordAreKept) {
  const RecordId kept = id_of(1);
  const RecordId nobodys = id_of(2);
  Record record = completion_of(kept, kNever);
  record.answer.body_note = BodyNote::spilled;
  const Token token = record.token;
  {
    const auto store = open_or_throw(options_);
    ASSERT_TRUE(run(store->put_chunk(kept, token, 0, "of a record")));
    ASSERT_TRUE(run(store->put_chunk(nobodys, token, 0, "of none")));
    apply(*store, kept, 0, record);
  }
  RawDatabase(options_.path).flip_last_bit(kept);
  const auto store = open_or_throw(options_);
  EXPECT_FALSE(run(store->read(kept)));
  EXPECT_TRUE(run(store->get_chunk(kept, token, 0)).value());
  EXPECT_FALSE(run(store->get_chunk(nobodys, token, 0)).value());
}

// A record that cannot be read is never taken for absent: its key would run again.
TEST_F(EmbeddedTest, ADamagedRecordIsAnErrorThatNamesIt) {
  const RecordId id = id_of(1);
  apply(*open_or_throw(options_), id, 0, claim_of(id));
  RawDatabase(options_.path).flip_last_bit(id);
  const auto store = open_or_throw(options_);
  EXPECT_THAT(run(store->read(id)).error().why, HasSubstr(id.hex()));
  const SwapResult claimed = run(store->swap(id, 0, shared(claim_of(id))));
  EXPECT_THAT(std::get<StoreUnavailable>(claimed).why, HasSubstr(id.hex()));
  EXPECT_THAT(run(store->scan(std::nullopt, 10)).error().why, HasSubstr(id.hex()));
  EXPECT_THAT(run(store->sweep(kNever, 10)).error().why, HasSubstr(id.hex()));
}

TEST_F(EmbeddedTest, ADamagedRecordDoesNotKeepTheOthersFromTheirTurn) {
  {
    const auto store = open_or_throw(options_);
    for (const std::uint64_t n : {1, 2, 3}) apply(*store, id_of(n), 0, claim_of(id_of(n)));
  }
  RawDatabase(options_.path).flip_last_bit(id_of(2));
  const auto store = open_or_throw(options_);
  EXPECT_EQ(run(store->sweep(kNever, 10))->size(), 2);
  const auto page = run(store->scan(std::nullopt, 10));
  EXPECT_EQ(page->records.size(), 2);
  EXPECT_FALSE(page->next);
  EXPECT_THAT(run(store->read(id_of(2))).error().why, HasSubstr(id_of(2).hex()));
}

TEST_F(EmbeddedTest, LargeRecordsMakeShortPages) {
  const auto store = open_or_throw(options_);
  for (std::uint64_t n = 0; n < 6; ++n) {
    Record record = completion_of(id_of(n), kThen);
    record.answer.body.resize(4 << 20, 'x');
    apply(*store, record.id, 0, std::move(record));
  }
  EXPECT_LT(run(store->sweep(kThen, 100))->size(), 6);
  std::size_t found = 0;
  std::optional<RecordId> after;
  do {
    const auto page = run(store->scan(after, 100));
    EXPECT_LT(page->records.size(), 6);
    found += page->records.size();
    after = page->next;
  } while (after);
  EXPECT_EQ(found, 6);
}

class EmbeddedFaultTest : public EmbeddedTest {
 protected:
  EmbeddedFaultTest() { options_.env = files_.env(); }

  // Begins a claim of each id on one executor, and gives the results once all are there.
  std::vector<SwapResult> claim_at_once(Store& store, std::uint64_t count) {
    std::vector<SwapResult> results;
    asio::io_context io;
    for (std::uint64_t n = 0; n < count; ++n) {
      asio::co_spawn(io, store.swap(id_of(n), 0, shared(claim_of(id_of(n)))),
                     [&](std::exception_ptr, SwapResult result) { results.push_back(result); });
    }
    io.run();
    return results;
  }

  FaultyFiles files_;
};

TEST_F(EmbeddedFaultTest, EverySwapIsSyncedBeforeItIsApplied) {
  const auto store = open_or_throw(options_);
  for (std::uint64_t n = 0; n < 10; ++n) {
    const int before = files_.syncs;
    apply(*store, id_of(n), 0, claim_of(id_of(n)));
    EXPECT_GT(files_.syncs, before);
  }
}

TEST_F(EmbeddedFaultTest, WithoutSyncNothingIsSynced) {
  options_.sync = false;
  const auto store = open_or_throw(options_);
  const int before = files_.syncs;
  apply(*store, id_of(1), 0, claim_of(id_of(1)));
  EXPECT_EQ(files_.syncs, before);
}

TEST_F(EmbeddedFaultTest, SwapsThatWaitAreCommittedTogether) {
  std::vector<std::size_t> groups;
  options_.committed = [&](const GroupCommit& group) { groups.push_back(group.swaps); };
  auto store = open_or_throw(options_);
  files_.sync_takes = 20ms;
  const int before = files_.syncs;
  for (const SwapResult& result : claim_at_once(*store, 64)) {
    EXPECT_TRUE(std::holds_alternative<swap::Applied>(result));
  }
  EXPECT_LE(files_.syncs - before, 8);
  store.reset();
  EXPECT_EQ(std::accumulate(groups.begin(), groups.end(), std::size_t{0}), 64);
}

TEST_F(EmbeddedFaultTest, ADuplicateIsAnsweredWithoutWaitingForTheDisk) {
  const auto store = open_or_throw(options_);
  apply(*store, id_of(1), 0, claim_of(id_of(1)));
  files_.sync_takes = 50ms;
  asio::io_context io;
  std::vector<std::string> answered;
  asio::co_spawn(io, store->swap(id_of(2), 0, shared(claim_of(id_of(2)))),
                 [&](std::exception_ptr, SwapResult) { answered.push_back("new key"); });
  asio::co_spawn(io, store->swap(id_of(1), 0, shared(claim_of(id_of(1)))),
                 [&](std::exception_ptr, SwapResult) { answered.push_back("duplicate"); });
  io.run();
  EXPECT_THAT(answered, testing::ElementsAre("duplicate", "new key"));
}

// The whole group is unknown, nothing is taken after it, and opening anew finds a whole state.
TEST_F(EmbeddedFaultTest, AFailedSyncStopsTheStore) {
  const Record kept = completion_of(id_of(1000), kThen);
  auto store = open_or_throw(options_);
  const Version version = apply(*store, kept.id, 0, kept);
  files_.fail_sync = true;
  int unknown = 0;
  for (const SwapResult& result : claim_at_once(*store, 8)) {
    EXPECT_FALSE(std::holds_alternative<swap::Applied>(result));
    unknown += std::holds_alternative<swap::Unknown>(result);
  }
  EXPECT_GT(unknown, 0);
  files_.fail_sync = false;

  ASSERT_TRUE(store->trouble());
  EXPECT_THAT(*store->trouble(), HasSubstr("store stopped"));
  const int syncs = files_.syncs;
  const SwapResult later = run(store->swap(id_of(2000), 0, shared(claim_of(id_of(2000)))));
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(later));
  EXPECT_FALSE(run(store->read(kept.id)));
  EXPECT_FALSE(run(store->sweep(kNever, 1)));
  EXPECT_FALSE(run(store->scan(std::nullopt, 1)));
  store.reset();
  EXPECT_EQ(files_.syncs, syncs);

  store = open_or_throw(options_);
  EXPECT_EQ(store->trouble(), std::nullopt);
  EXPECT_EQ(run(store->read(kept.id)).value()->version, version);
  EXPECT_FALSE(run(store->read(id_of(2000))).value());
  std::size_t landed = 0;
  for (std::uint64_t n = 0; n < 8; ++n) landed += run(store->read(id_of(n))).value() != nullptr;
  EXPECT_EQ(run(store->sweep(kNever, 100))->size(), landed + 1);
  apply(*store, id_of(2000), 0, claim_of(id_of(2000)));
}

TEST_F(EmbeddedFaultTest, AFullDiskStopsTheStore) {
  auto store = open_or_throw(options_);
  apply(*store, id_of(1), 0, claim_of(id_of(1)));
  files_.fail_append = true;
  const SwapResult result = run(store->swap(id_of(2), 0, shared(claim_of(id_of(2)))));
  EXPECT_TRUE(std::holds_alternative<swap::Unknown>(result));
  EXPECT_TRUE(store->trouble());
  files_.fail_append = false;
  store.reset();
  store = open_or_throw(options_);
  EXPECT_TRUE(run(store->read(id_of(1))).value());
}

TEST_F(EmbeddedFaultTest, TheDestructorFinishesWhatWasBegun) {
  files_.sync_takes = 20ms;
  asio::io_context io;
  std::vector<SwapResult> results;
  auto store = open_or_throw(options_);
  for (std::uint64_t n = 0; n < 8; ++n) {
    asio::co_spawn(io, store->swap(id_of(n), 0, shared(claim_of(id_of(n)))),
                   [&](std::exception_ptr, SwapResult result) { results.push_back(result); });
  }
  io.poll();
  store.reset();
  io.run();
  ASSERT_EQ(results.size(), 8);
  for (const SwapResult& result : results) {
    EXPECT_TRUE(std::holds_alternative<swap::Applied>(result));
  }
}

}  // namespace
}  // namespace semel::stores
