// Each kind of damage that the check of an embedded store knows is planted, and found.
#include "stores/embedded/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include "stores/embedded/layout.h"
#include "stores/embedded_harness.h"

namespace semel::stores {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class EmbeddedCheck : public testing::Test {
 protected:
  // Makes a store with one unknown record.
  void SetUp() override {
    const auto store = open_or_throw(options_);
    Record record;
    record.id = id_;
    record.state = RecordState::unknown;
    record.updated_at = Time(Duration(1000));
    record.expires_at = Time(Duration(9000));
    const SwapResult made = run(store->swap(id_, 0, std::make_shared<Record>(record)));
    ASSERT_TRUE(std::holds_alternative<swap::Applied>(made));
  }

  // Changes the database behind the store's back.
  void damage(std::string_view family,
              const std::function<void(rocksdb::DB&, rocksdb::ColumnFamilyHandle*)>& change) {
    const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
        {rocksdb::kDefaultColumnFamilyName, {}},
        {std::string(kRecordsFamily), {}},
        {std::string(kIndexFamily), {}},
        {std::string(kChunksFamily), {}}};
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, options_.path.string(), families, &handles, &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    for (auto* handle : handles) {
      if (handle->GetName() == family) change(*db, handle);
    }
    for (auto* handle : handles) db->DestroyColumnFamilyHandle(handle);
  }

  std::vector<std::string> findings() {
    const auto report = check_embedded_store(options_.path);
    EXPECT_TRUE(report) << report.error();
    return report ? report->findings : std::vector<std::string>{};
  }

  ScratchDirectory directory_;
  EmbeddedOptions options_{.path = directory_.path() / "store"};
  RecordId id_ = [] {
    RecordId id;
    id.bytes[0] = 7;
    return id;
  }();
};

TEST_F(EmbeddedCheck, FindsNothingInASoundStore) {
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_EQ(check_embedded_store(options_.path)->records.at("unknown"), 1u);
}

TEST_F(EmbeddedCheck, FindsARecordThatDoesNotDecode) {
  damage(kRecordsFamily, [this](rocksdb::DB& db, auto* records) {
    std::string value;
    ASSERT_TRUE(db.Get({}, records, core::bytes_of(id_), &value).ok());
    value.back() ^= 1;
    ASSERT_TRUE(db.Put({}, records, core::bytes_of(id_), value).ok());
  });
  EXPECT_THAT(findings(), Contains(HasSubstr("cannot be decoded")));
}

TEST_F(EmbeddedCheck, FindsARecordThatIsCutOff) {
  damage(kRecordsFamily, [this](rocksdb::DB& db, auto* records) {
    ASSERT_TRUE(db.Put({}, records, core::bytes_of(id_), "short").ok());
  });
  EXPECT_THAT(findings(), Contains(HasSubstr("is cut off")));
}

TEST_F(EmbeddedCheck, FindsARecordThatTheIndexLacks) {
  damage(kIndexFamily, [](rocksdb::DB& db, auto* index) {
    ASSERT_TRUE(db.DeleteRange({}, index, "a", "z").ok());
  });
  EXPECT_THAT(findings(), Contains(HasSubstr("is missing in the index of unknown outcomes")));
}

TEST_F(EmbeddedCheck, FindsAnEntryWithoutItsRecord) {
  damage(kRecordsFamily, [this](rocksdb::DB& db, auto* records) {
    ASSERT_TRUE(db.Delete({}, records, core::bytes_of(id_)).ok());
  });
  EXPECT_THAT(findings(), Contains(HasSubstr("which does not exist")));
}

TEST_F(EmbeddedCheck, FindsAnEntryThatDiffersFromItsRecord) {
  damage(kIndexFamily, [this](rocksdb::DB& db, auto* index) {
    const auto key = index_key(Index::due, Time(Duration(5)), id_);
    ASSERT_TRUE(db.Put({}, index, rocksdb::Slice(key.data(), key.size()), "").ok());
  });
  EXPECT_THAT(findings(), Contains(HasSubstr("differs from the record")));
}

TEST_F(EmbeddedCheck, FindsAnAnswerWithoutItsChunks) {
  {
    const auto store = open_or_throw(options_);
    Record record;
    record.id.bytes[0] = 8;
    record.state = RecordState::completed;
    record.token.bytes[0] = 1;
    record.expires_at = Time(Duration(9000));
    record.answer.body_note = BodyNote::spilled;
    record.answer.spilled_bytes = kChunkBytes + 1;
    ASSERT_TRUE(run(store->put_chunk(record.id, record.token, 0, "first")));
    const SwapResult made = run(store->swap(record.id, 0, std::make_shared<Record>(record)));
    ASSERT_TRUE(std::holds_alternative<swap::Applied>(made));
  }
  const auto found = findings();
  EXPECT_THAT(found, Contains(HasSubstr("chunk 1 of its answer is missing")));
  EXPECT_EQ(found.size(), 1u);
}

TEST_F(EmbeddedCheck, LeavesAloneWhatIsOpen) {
  const auto store = open_or_throw(options_);
  const auto report = check_embedded_store(options_.path);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error(), HasSubstr("another semel has it open"));
}

}  // namespace
}  // namespace semel::stores
