// Promises of the sealed store beyond those that every store makes.
#include "stores/sealed_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "stores/sealed_harness.h"

namespace semel::stores {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A sealed store, and what lies below it.
struct Bench {
  explicit Bench(std::string_view first_keys) : keys(std::make_shared<std::string>(first_keys)) {
    auto memory = std::make_unique<MemoryStore>();
    below = memory.get();
    store = sealed_over(std::move(memory), keys);
  }
  void replace_keys(std::string_view text) {
    *keys = text;
    ASSERT_TRUE(store->reload());
  }
  Record raw(const RecordId& id) { return **run(below->read(id)); }
  void put_raw(Record record) {
    const Version version = record.version;
    const RecordId id = record.id;
    ASSERT_TRUE(std::holds_alternative<swap::Applied>(
        run(below->swap(id, version, shared(std::move(record))))));
  }
  void complete(const RecordId& id) {
    ASSERT_TRUE(std::holds_alternative<swap::Applied>(
        run(store->swap(id, 0, shared(completion_of(id, kThen))))));
  }
  StoreResult<RecordPtr> read(const RecordId& id) { return run(store->read(id)); }

  std::shared_ptr<std::string> keys;
  MemoryStore* below;
  std::unique_ptr<SealedStore> store;
};

TEST(SealedStore, KeepsTheAnswerAndTheRequestsBodyFromTheStoreBelow) {
  Bench bench(kFirstKey);
  Record record = completion_of(id_of(1), kThen);
  record.request = "a queued request";
  run(bench.store->swap(record.id, 0, shared(record)));
  const Record raw = bench.raw(record.id);
  EXPECT_EQ(raw.answer, Answer{});
  EXPECT_EQ(raw.request, "");
  EXPECT_EQ(raw.description, (Description{"POST", "/v1/charges", {}}));
  EXPECT_EQ(raw.sealed.key_id, "k1");
  EXPECT_EQ(raw.state, RecordState::completed);
  Record found = **bench.read(record.id);
  found.version = record.version;
  EXPECT_EQ(found, record);
}

TEST(SealedStore, AClaimWithoutDescribedMembersHasNothingToSeal) {
  Bench bench(kFirstKey);
  Record claim = claim_of(id_of(1));
  claim.description.members.clear();
  run(bench.store->swap(id_of(1), 0, shared(claim)));
  EXPECT_EQ(bench.raw(id_of(1)).sealed, Sealed{});
}

TEST(SealedStore, DescribedMembersOfAClaimAreSealed) {
  Bench bench(kFirstKey);
  const Record claim = claim_of(id_of(1));
  run(bench.store->swap(id_of(1), 0, shared(claim)));
  EXPECT_EQ(bench.raw(id_of(1)).description, (Description{"POST", "/v1/charges", {}}));
  EXPECT_EQ((*bench.read(id_of(1)))->description, claim.description);
}

TEST(SealedStore, EverySealIsAnother) {
  Bench bench(kFirstKey);
  bench.complete(id_of(1));
  const Record first = bench.raw(id_of(1));
  run(bench.store->swap(id_of(1), first.version, shared(completion_of(id_of(1), kThen))));
  EXPECT_NE(bench.raw(id_of(1)).sealed.bytes, first.sealed.bytes);
}

TEST(SealedStore, NothingReadableIsInTheFolder) {
  const ScratchDirectory directory;
  const auto path = directory.path() / "store";
  const std::string secret = "4111-1111-1111-1111";
  {
    const auto store = sealed_over(open_or_throw({.path = path}));
    Record record = completion_of(id_of(1), kThen);
    record.answer.headers = {{"x-header", secret}};
    record.answer.body = secret;
    record.request = secret;
    record.description.members = {{"/card", secret}};
    run(store->swap(record.id, 0, shared(record)));
    EXPECT_TRUE(run(store->put_chunk(id_of(2), Token{}, 0, secret)));
    record.id = id_of(3);
    record.tenant = "what-is-not-sealed";
    run(store->swap(record.id, 0, shared(record)));
  }
  const auto anywhere = [&](const std::string& text) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), {});
      if (bytes.find(text) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(anywhere("what-is-not-sealed")) << "the search would find it";
  EXPECT_FALSE(anywhere(secret));
}

TEST(SealedStore, ANewKeyWritesAndTheOldOneStillReads) {
  Bench bench(kFirstKey);
  bench.complete(id_of(1));
  EXPECT_TRUE(run(bench.store->swap(id_of(9), 0, shared(claim_of(id_of(9))))).index() == 0);
  bench.replace_keys(std::string(kSecondKey) + std::string(kFirstKey));
  EXPECT_EQ((*bench.read(id_of(1)))->answer.status, 201);
  bench.complete(id_of(2));
  EXPECT_EQ(bench.raw(id_of(1)).sealed.key_id, "k1");
  EXPECT_EQ(bench.raw(id_of(2)).sealed.key_id, "k2");
}

TEST(SealedStore, KeysThatCannotBeReadChangeNothing) {
  Bench bench(kFirstKey);
  bench.complete(id_of(1));
  *bench.keys = "nonsense";
  const auto reloaded = bench.store->reload();
  ASSERT_FALSE(reloaded);
  EXPECT_THAT(reloaded.error(), HasSubstr("line 1"));
  EXPECT_EQ((*bench.read(id_of(1)))->answer.status, 201);
  bench.complete(id_of(2));
  EXPECT_EQ(bench.raw(id_of(2)).sealed.key_id, "k1");
}

// A store below may have completed records in memory, but only with their answers sealed.
TEST(SealedStore, HasNoCompletedRecordsInMemory) {
  const ScratchDirectory directory;
  auto embedded = open_or_throw({.path = directory.path() / "store"});
  Store& below = *embedded;
  const auto store = sealed_over(std::move(embedded));
  const RecordId id = id_of(1);
  run(store->swap(id, 0, shared(completion_of(id, kThen))));
  ASSERT_TRUE(below.cached_completed(id));
  EXPECT_EQ(store->cached_completed(id), nullptr);
}

TEST(SealedStore, WithoutItsKeyARecordIsUnreadableAndNeverAbsent) {
  Bench bench(kFirstKey);
  bench.complete(id_of(1));
  const Record before = bench.raw(id_of(1));
  bench.replace_keys(kSecondKey);
  const auto found = bench.read(id_of(1));
  ASSERT_FALSE(found);
  EXPECT_TRUE(found.error().unreadable);
  EXPECT_THAT(found.error().why, HasSubstr("is sealed with key 'k1', which is not in keys_file"));
  const SwapResult claimed = run(bench.store->swap(id_of(1), 0, shared(claim_of(id_of(1)))));
  ASSERT_TRUE(std::holds_alternative<StoreUnavailable>(claimed));
  EXPECT_TRUE(std::get<StoreUnavailable>(claimed).unreadable);
  EXPECT_EQ(bench.raw(id_of(1)), before);
}

TEST(SealedStore, WhatExpiresNeedsNoKey) {
  Bench bench(kFirstKey);
  bench.complete(id_of(1));
  bench.replace_keys(kSecondKey);
  const auto due = run(bench.store->sweep(kThen + 1h, 10));
  ASSERT_EQ(due->size(), 1u);
  EXPECT_EQ((*due)[0]->sealed, bench.raw(id_of(1)).sealed);
  EXPECT_EQ(run(bench.store->scan(std::nullopt, 10))->records[0]->sealed,
            bench.raw(id_of(1)).sealed);
  // Passed on as it is, by one who has changed something else in it.
  Record moved = *(*due)[0];
  moved.expires_at = kThen + 2h;
  const SwapResult swapped = run(bench.store->swap(id_of(1), moved.version, shared(moved)));
  ASSERT_TRUE(std::holds_alternative<swap::Applied>(swapped));
  EXPECT_EQ(bench.raw(id_of(1)).sealed, moved.sealed);
  bench.replace_keys(kFirstKey);
  EXPECT_EQ((*bench.read(id_of(1)))->answer.body, completion_of(id_of(1), kThen).answer.body);
}

TEST(SealedStore, WhatOpensIsOpenedForTheSweeper) {
  Bench bench(kFirstKey);
  Record queued = claim_of(id_of(1));
  queued.state = RecordState::queued;
  queued.request = "do it";
  run(bench.store->swap(queued.id, 0, shared(queued)));
  EXPECT_EQ(bench.raw(queued.id).request, "");
  EXPECT_EQ(run(bench.store->scan(std::nullopt, 10))->records[0]->request, "do it");
  EXPECT_EQ((*run(bench.store->sweep(kThen + 2h, 10)))[0]->request, "do it");
}

TEST(SealedStore, AChangedRecordDoesNotOpen) {
  Bench bench(kFirstKey);
  bench.complete(id_of(1));
  Record changed = bench.raw(id_of(1));
  changed.sealed.bytes[changed.sealed.bytes.size() / 2] ^= 1;
  bench.put_raw(changed);
  const auto found = bench.read(id_of(1));
  ASSERT_FALSE(found);
  EXPECT_TRUE(found.error().unreadable);
  EXPECT_THAT(found.error().why, HasSubstr("it was changed"));
}

TEST(SealedStore, TwoRecordsCannotTradeAnswers) {
  Bench bench(kFirstKey);
  bench.complete(id_of(1));
  bench.complete(id_of(2));
  Record first = bench.raw(id_of(1));
  Record second = bench.raw(id_of(2));
  std::swap(first.sealed, second.sealed);
  bench.put_raw(first);
  bench.put_raw(second);
  EXPECT_FALSE(bench.read(id_of(1)));
  EXPECT_FALSE(bench.read(id_of(2)));
}

TEST(SealedStore, AnAnswerOfAnotherAttemptDoesNotOpen) {
  Bench bench(kFirstKey);
  bench.complete(id_of(1));
  Record other = bench.raw(id_of(1));
  other.token.bytes[0] ^= 1;
  bench.put_raw(other);
  EXPECT_FALSE(bench.read(id_of(1)));
}

TEST(SealedStore, ChunksOpenAtTheirPlaceOnly) {
  const ScratchDirectory directory;
  auto embedded = open_or_throw({.path = directory.path() / "store"});
  Store& below = *embedded;
  const auto keys = std::make_shared<std::string>(kFirstKey);
  const auto store = sealed_over(std::move(embedded), keys);
  const Token token = claim_of(id_of(1)).token;
  EXPECT_TRUE(run(store->put_chunk(id_of(1), token, 0, "first")));
  EXPECT_TRUE(run(store->put_chunk(id_of(1), token, 1, "second")));
  EXPECT_EQ(run(store->get_chunk(id_of(1), token, 1)).value(), "second");
  const std::string raw = **run(below.get_chunk(id_of(1), token, 1));
  EXPECT_EQ(raw.find("second"), std::string::npos);
  EXPECT_TRUE(run(below.put_chunk(id_of(1), token, 0, raw)));
  EXPECT_TRUE(run(below.put_chunk(id_of(2), token, 1, raw)));
  EXPECT_FALSE(run(store->get_chunk(id_of(1), token, 0)));
  EXPECT_FALSE(run(store->get_chunk(id_of(2), token, 1)));
  *keys = kSecondKey;
  ASSERT_TRUE(store->reload());
  EXPECT_THAT(run(store->get_chunk(id_of(1), token, 1)).error().why, HasSubstr("'k1'"));
  EXPECT_TRUE(run(below.put_chunk(id_of(1), token, 1, "\xff")));
  EXPECT_FALSE(run(store->get_chunk(id_of(1), token, 1)));
}

TEST(KeyFile, IsReadableByItsOwnerOnly) {
  const ScratchDirectory directory;
  const auto file = directory.path() / "keys";
  EXPECT_THAT(read_sealing_keys(file).error(), HasSubstr("cannot be read"));
  std::ofstream(file) << kFirstKey;
  for (const mode_t mode : {0640, 0604, 0660, 0601}) {
    ASSERT_EQ(chmod(file.c_str(), mode), 0);
    EXPECT_THAT(read_sealing_keys(file).error(), HasSubstr("chmod 600")) << mode;
  }
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  ASSERT_TRUE(read_sealing_keys(file));
  EXPECT_EQ(read_sealing_keys(file)->for_writing().id, "k1");
  EXPECT_THAT(read_sealing_keys(directory.path()).error(), HasSubstr("is not a file"));
  std::ofstream(file) << "nonsense";
  EXPECT_THAT(read_sealing_keys(file).error(), HasSubstr("line 1"));
}

}  // namespace
}  // namespace semel::stores
