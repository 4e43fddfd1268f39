#include "conformance/store_suite.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <variant>

namespace semel {

using namespace std::chrono_literals;

RecordId id_of(std::uint64_t number) {
  RecordId id;
  std::uint64_t mixed = number;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    mixed = mixed * 6364136223846793005U + 1442695040888963407U;
    id.bytes[i] = static_cast<std::uint8_t>(mixed >> 56);
  }
  return id;
}

Record claim_of(const RecordId& id) {
  Record record;
  record.id = id;
  record.state = RecordState::in_progress;
  record.attempt = 3;
  std::iota(record.token.bytes.begin(), record.token.bytes.end(), std::uint8_t{7});
  record.owner = {.node = "node-1", .run = 0xfedcba9876543210};
  record.recipe = {.body = BodyRecipe::json,
                   .query = false,
                   .include = {"/amount", "/items/*/id"},
                   .exclude = {"/sent_at"},
                   .headers = {"x-version"},
                   .hash_key_id = "h1"};
  std::iota(record.fingerprint.digest.begin(), record.fingerprint.digest.end(), std::uint8_t{200});
  record.fingerprint.parts = {1, 0xffffffffffffffff, 3, 4, 5, 6};
  record.lease_until = kThen + 1h;
  record.created_at = kThen - 2h;
  record.updated_at = kThen - 1h;
  record.ttl = 24h;
  record.tombstone = 168h;
  record.hold_for = 240h;
  record.ttl_from_creation = true;
  record.reason = "answered 503";
  record.only_auth_failures = true;
  record.status_begun = 200;
  record.response_version = "2024-10-01";
  record.resource_type = "charge";
  record.resource_id = "ch_1";
  record.trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  record.history = {{kThen - 2h, RecordState::in_progress, 1, "claimed"},
                    {kThen - 1h, RecordState::released, 1, "answered 503"}};
  record.tenant = "acme";
  record.operation = "charges";
  record.key = "8e03978e-40d5-43dd-bc93-6894a57f9324";
  return record;
}

Record completion_of(const RecordId& id, Time expires_at) {
  Record record = claim_of(id);
  record.state = RecordState::completed;
  record.expires_at = expires_at;
  record.result = RecordResult::succeeded;
  record.answer = {.status = 201,
                   .headers = {{"content-type", "application/json"}, {"link", ""}, {"link", "</>"}},
                   .body = R"({"id":"ch_1"})",
                   .body_note = BodyNote::kept};
  return record;
}

Record unknown_of(const RecordId& id, Time since) {
  Record record = claim_of(id);
  record.state = RecordState::unknown;
  record.updated_at = since;
  return record;
}

std::optional<Record> StoreSuite::read(const RecordId& id) {
  auto result = run(store().read(id));
  if (!result) throw std::runtime_error("read: " + result.error().why);
  return value_of(*result);
}

SwapResult StoreSuite::swap(const RecordId& id, Version expected, std::optional<Record> next) {
  return run(store().swap(id, expected, shared(std::move(next))));
}

Version StoreSuite::apply(const RecordId& id, Version expected, std::optional<Record> next) {
  const SwapResult result = swap(id, expected, std::move(next));
  return std::get<swap::Applied>(result).version;
}

std::optional<Record> StoreSuite::refused(const RecordId& id, Version expected,
                                          std::optional<Record> next) {
  const SwapResult result = swap(id, expected, std::move(next));
  return value_of(std::get<swap::Conflict>(result).current);
}

std::vector<RecordId> StoreSuite::sweep(Time now, std::size_t limit) {
  const auto result = run(store().sweep(now, limit));
  if (!result) throw std::runtime_error("sweep: " + result.error().why);
  std::vector<RecordId> ids;
  for (const RecordPtr& record : *result) ids.push_back(record->id);
  return ids;
}

std::vector<RecordId> StoreSuite::scan(std::size_t page_size) {
  std::vector<RecordId> ids;
  std::optional<RecordId> after;
  do {
    const auto page = run(store().scan(after, page_size));
    if (!page) throw std::runtime_error("scan: " + page.error().why);
    EXPECT_LE(page->records.size(), page_size);
    for (const RecordPtr& record : page->records) ids.push_back(record->id);
    after = page->next;
  } while (after);
  return ids;
}

void StoreSuite::expect_stats(std::uint64_t unknown_records, std::optional<Time> oldest_unknown) {
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  const auto is_so = [&] {
    const StoreStats stats = store().stats();
    return stats.unknown_records == unknown_records && stats.oldest_unknown == oldest_unknown;
  };
  while (!is_so() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_EQ(store().stats().unknown_records, unknown_records);
  EXPECT_EQ(store().stats().oldest_unknown, oldest_unknown);
}

namespace {

Record at_version(Record record, Version version) {
  record.version = version;
  return record;
}

std::string all_byte_values() {
  std::string bytes(256, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  return bytes;
}

}  // namespace

TEST_P(StoreSuite, IsHealthyAndEmptyAtFirst) {
  EXPECT_EQ(store().trouble(), std::nullopt);
  EXPECT_EQ(read(id_of(1)), std::nullopt);
  EXPECT_TRUE(scan(10).empty());
  EXPECT_TRUE(sweep(kNever).empty());
}

TEST_P(StoreSuite, CreatesARecordOnce) {
  const Record first = claim_of(id_of(1));
  Record second = first;
  second.attempt = 99;
  const Version version = apply(first.id, 0, first);
  EXPECT_NE(version, 0);
  EXPECT_EQ(refused(first.id, 0, second), at_version(first, version));
  EXPECT_EQ(read(first.id), at_version(first, version));
  EXPECT_EQ(read(id_of(2)), std::nullopt);
}

TEST_P(StoreSuite, ReplacesOnlyTheExpectedVersion) {
  const Record claim = claim_of(id_of(1));
  const Record completion = completion_of(claim.id, kThen + 24h);
  const Version claimed = apply(claim.id, 0, claim);
  const Version completed = apply(claim.id, claimed, completion);
  EXPECT_NE(completed, claimed);
  EXPECT_EQ(refused(claim.id, claimed, claim), at_version(completion, completed));
  EXPECT_EQ(refused(claim.id, completed + 1, claim), at_version(completion, completed));
  EXPECT_EQ(read(claim.id), at_version(completion, completed));
}

TEST_P(StoreSuite, RefusesAVersionOfAnAbsentRecord) {
  EXPECT_EQ(refused(id_of(1), 5, claim_of(id_of(1))), std::nullopt);
  EXPECT_EQ(refused(id_of(1), 5, std::nullopt), std::nullopt);
  EXPECT_EQ(read(id_of(1)), std::nullopt);
}

TEST_P(StoreSuite, RemovesOnlyTheExpectedVersion) {
  const Record claim = claim_of(id_of(1));
  const Version first = apply(claim.id, 0, claim);
  const Version second = apply(claim.id, first, claim);
  EXPECT_EQ(refused(claim.id, first, std::nullopt), at_version(claim, second));
  EXPECT_EQ(refused(claim.id, 0, std::nullopt), at_version(claim, second));
  EXPECT_EQ(apply(claim.id, second, std::nullopt), 0);
  EXPECT_EQ(read(claim.id), std::nullopt);
  EXPECT_EQ(refused(claim.id, second, std::nullopt), std::nullopt);
}

TEST_P(StoreSuite, RemovingNothingIsApplied) {
  EXPECT_EQ(apply(id_of(1), 0, std::nullopt), 0);
  EXPECT_EQ(read(id_of(1)), std::nullopt);
}

// How a write of unknown fate is confirmed.
TEST_P(StoreSuite, ARecordCanBeSwappedWithItself) {
  const Record claim = claim_of(id_of(1));
  const Version first = apply(claim.id, 0, claim);
  const Version second = apply(claim.id, first, at_version(claim, first));
  EXPECT_NE(second, first);
  EXPECT_EQ(read(claim.id), at_version(claim, second));
}

TEST_P(StoreSuite, TheStoreChoosesTheVersion) {
  const Record claim = claim_of(id_of(1));
  const Version version = apply(claim.id, 0, at_version(claim, 0xdeadbeefdeadbeef));
  EXPECT_NE(version, 0xdeadbeefdeadbeef);
  EXPECT_EQ(read(claim.id)->version, version);
}

// A zombie that remembers a version from before a purge must not meet it again.
TEST_P(StoreSuite, VersionsAreNotReusedAfterARemoval) {
  const Record claim = claim_of(id_of(1));
  std::vector<Version> seen;
  for (int life = 0; life < 5; ++life) {
    const Version first = apply(claim.id, 0, claim);
    const Version second = apply(claim.id, first, claim);
    apply(claim.id, second, std::nullopt);
    seen.insert(seen.end(), {first, second});
    if (store().features().durable) reopen();
  }
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
}

TEST_P(StoreSuite, EveryFieldAndByteComesBack) {
  Record record = completion_of(id_of(1), kThen + 24h);
  record.answer.body = all_byte_values();
  record.answer.headers.push_back({"x-bytes", all_byte_values()});
  record.key = record.tenant = record.reason = all_byte_values();
  record.tombstone_until = kThen + 48h;
  record.hold_until = kThen + 72h;
  const Version version = apply(record.id, 0, record);
  EXPECT_EQ(read(record.id), at_version(record, version));
}

TEST_P(StoreSuite, LargeBodiesComeBack) {
  for (const std::size_t body_bytes : {std::size_t{32} << 10, std::size_t{4} << 20}) {
    Record record = completion_of(id_of(body_bytes), kThen + 24h);
    record.answer.body.resize(body_bytes);
    for (std::size_t i = 0; i < body_bytes; ++i) record.answer.body[i] = static_cast<char>(i * 31);
    const Version version = apply(record.id, 0, record);
    EXPECT_TRUE(read(record.id) == at_version(record, version)) << body_bytes;
  }
}

TEST_P(StoreSuite, ATooLargeRecordChangesNothing) {
  const std::size_t limit = store().features().record_bytes_max;
  ASSERT_GT(limit, 0);
  const Record claim = claim_of(id_of(1));
  const Version version = apply(claim.id, 0, claim);
  Record huge = completion_of(claim.id, kThen + 24h);
  huge.answer.body.resize(limit + 1, 'x');
  const SwapResult result = swap(claim.id, version, std::move(huge));
  EXPECT_EQ(std::get<swap::TooLarge>(result).record_bytes_max, limit);
  EXPECT_EQ(read(claim.id), at_version(claim, version));
}

// What a store says of its durability is what a restart shows.
TEST_P(StoreSuite, ARestartKeepsEverythingOrTheStoreSaysSo) {
  if (!store().features().durable) {
    apply(id_of(1), 0, claim_of(id_of(1)));
    reopen();
    EXPECT_EQ(read(id_of(1)), std::nullopt);
    return;
  }
  const Record kept = completion_of(id_of(1), kThen + 24h);
  const Record removed = claim_of(id_of(2));
  const Version version = apply(kept.id, apply(kept.id, 0, claim_of(kept.id)), kept);
  apply(removed.id, apply(removed.id, 0, removed), std::nullopt);
  apply(id_of(3), 0, unknown_of(id_of(3), kThen));
  reopen();
  EXPECT_EQ(read(kept.id), at_version(kept, version));
  EXPECT_EQ(read(removed.id), std::nullopt);
  EXPECT_EQ(sweep(kThen + 24h), std::vector{kept.id});
  expect_stats(1, kThen);
  EXPECT_NE(apply(kept.id, version, kept), version);
}

}  // namespace semel
