// Reads and swaps, one at a time.
#include "store_suite.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <variant>

namespace semel::conformance {

using namespace std::chrono_literals;

namespace {

std::string version_of(const RecordPtr& current) {
  return current ? "the record at version " + std::to_string(current->version) : "no record";
}

template <typename Result>
const Result& expect_result(const SwapResult& result, Version expected, const char* wanted) {
  if (const Result* found = std::get_if<Result>(&result)) return *found;
  throw std::runtime_error("a swap that expects version " + std::to_string(expected) +
                           " should be " + wanted + "; the store returned " + describe(result));
}

const RecordPtr& checked(const RecordPtr& record) {
  if (!record) throw std::runtime_error("the store returned a null among the records it found");
  return record;
}

std::string all_byte_values() {
  std::string bytes(256, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  return bytes;
}

}  // namespace

std::string describe(const SwapResult& result) {
  struct Words {
    std::string operator()(const swap::Applied& r) {
      return "Applied with version " + std::to_string(r.version);
    }
    std::string operator()(const swap::Conflict& r) {
      return "Conflict with " + version_of(r.current);
    }
    std::string operator()(const StoreUnavailable& r) { return "StoreUnavailable: " + r.why; }
    std::string operator()(const swap::Unknown& r) { return "Unknown: " + r.why; }
    std::string operator()(const swap::TooLarge& r) {
      return "TooLarge with a limit of " + std::to_string(r.record_bytes_max) + " bytes";
    }
    std::string operator()(const swap::Busy& r) { return "Busy with " + version_of(r.current); }
  };
  return std::visit(Words{}, result);
}

std::optional<Record> StoreSuite::read(const RecordId& id) {
  auto result = run(store().read(id));
  if (!result) throw std::runtime_error("read: " + result.error().why);
  return value_of(*result);
}

Record StoreSuite::existing(const RecordId& id) {
  std::optional<Record> found = read(id);
  if (!found) throw std::runtime_error("read: the record is absent, although it was written");
  return *std::move(found);
}

SwapResult StoreSuite::swap(const RecordId& id, Version expected, std::optional<Record> next) {
  return run(store().swap(id, expected, shared(std::move(next))));
}

Version StoreSuite::apply(const RecordId& id, Version expected, std::optional<Record> next) {
  const SwapResult result = swap(id, expected, std::move(next));
  return expect_result<swap::Applied>(result, expected, "Applied").version;
}

std::optional<Record> StoreSuite::refused(const RecordId& id, Version expected,
                                          std::optional<Record> next) {
  const SwapResult result = swap(id, expected, std::move(next));
  return value_of(expect_result<swap::Conflict>(result, expected, "a Conflict").current);
}

std::vector<RecordId> StoreSuite::sweep(Time now, std::size_t limit) {
  const auto result = run(store().sweep(now, limit));
  if (!result) throw std::runtime_error("sweep: " + result.error().why);
  std::vector<RecordId> ids;
  for (const RecordPtr& record : *result) ids.push_back(checked(record)->id);
  return ids;
}

std::vector<RecordId> StoreSuite::scan(std::size_t page_size) {
  std::vector<RecordId> ids;
  std::optional<RecordId> after;
  do {
    const auto page = run(store().scan(after, page_size));
    if (!page) throw std::runtime_error("scan: " + page.error().why);
    EXPECT_LE(page->records.size(), page_size);
    for (const RecordPtr& record : page->records) ids.push_back(checked(record)->id);
    if (after && page->next && *page->next <= *after) {
      throw std::runtime_error("scan: `next` does not come after the page before");
    }
    after = page->next;
  } while (after);
  return ids;
}

void StoreSuite::expect_stats(std::uint64_t unknown_records, std::optional<Time> oldest_unknown) {
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  StoreStats stats = store().stats();
  const auto is_so = [&] {
    return stats.unknown_records == unknown_records && stats.oldest_unknown == oldest_unknown;
  };
  for (; !is_so() && std::chrono::steady_clock::now() < give_up; stats = store().stats()) {
    std::this_thread::sleep_for(5ms);
  }
  if (is_so()) return;
  throw std::runtime_error("stats: " + std::to_string(stats.unknown_records) +
                           " unknown records instead of " + std::to_string(unknown_records) +
                           (stats.oldest_unknown == oldest_unknown ? "" : ", another oldest one"));
}

Beside::Beside(std::function<void(const std::stop_token&)> work)
    : thread_([this, work = std::move(work)](const std::stop_token& stop) {
        try {
          work(stop);
        } catch (...) {
          failed_ = std::current_exception();
        }
        finished_ = true;
      }) {}

void Beside::join() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  if (!failed_) return;
  try {
    std::rethrow_exception(failed_);
  } catch (const std::exception& failed) {
    ADD_FAILURE() << "beside the test: " << failed.what();
  }
}

TEST_P(StoreSuite, IsHealthyAndEmptyAtFirst) {
  promise("A new store is empty and reports no trouble.");
  EXPECT_EQ(store().trouble(), std::nullopt);
  EXPECT_EQ(difference(read(id_of(1)), std::nullopt), "");
  EXPECT_TRUE(scan(10).empty());
  EXPECT_TRUE(sweep(kNever).empty());
}

TEST_P(StoreSuite, CreatesARecordOnce) {
  promise(
      "A swap that expects version 0 creates the record if there is none; otherwise it is "
      "a Conflict that brings the record as it is.");
  const Record first = claim_of(id_of(1));
  Record second = first;
  second.attempt = 99;
  const Version version = apply(first.id, 0, first);
  EXPECT_NE(version, 0);
  EXPECT_EQ(difference(refused(first.id, 0, second), at_version(first, version)), "");
  EXPECT_EQ(difference(read(first.id), at_version(first, version)), "");
  EXPECT_EQ(difference(read(id_of(2)), std::nullopt), "");
}

TEST_P(StoreSuite, ReplacesOnlyTheExpectedVersion) {
  promise(
      "A swap replaces the record only if it is at the expected version; a Conflict writes "
      "nothing and brings the record as it is.");
  const Record claim = claim_of(id_of(1));
  const Record completion = completion_of(claim.id, kThen + 24h);
  const Version claimed = apply(claim.id, 0, claim);
  const Version completed = apply(claim.id, claimed, completion);
  EXPECT_NE(completed, claimed);
  EXPECT_EQ(difference(refused(claim.id, claimed, claim), at_version(completion, completed)), "");
  EXPECT_EQ(difference(refused(claim.id, completed + 1, claim), at_version(completion, completed)),
            "");
  EXPECT_EQ(difference(read(claim.id), at_version(completion, completed)), "");
}

TEST_P(StoreSuite, RefusesAVersionOfAnAbsentRecord) {
  promise(
      "A swap that expects a version of an absent record is a Conflict without a record, "
      "and creates nothing.");
  EXPECT_EQ(difference(refused(id_of(1), 5, claim_of(id_of(1))), std::nullopt), "");
  EXPECT_EQ(difference(refused(id_of(1), 5, std::nullopt), std::nullopt), "");
  EXPECT_EQ(difference(read(id_of(1)), std::nullopt), "");
}

TEST_P(StoreSuite, RemovesOnlyTheExpectedVersion) {
  promise(
      "A swap to null removes the record only if it is at the expected version, and is "
      "Applied with version 0.");
  const Record claim = claim_of(id_of(1));
  const Version first = apply(claim.id, 0, claim);
  const Version second = apply(claim.id, first, claim);
  EXPECT_EQ(difference(refused(claim.id, first, std::nullopt), at_version(claim, second)), "");
  EXPECT_EQ(difference(refused(claim.id, 0, std::nullopt), at_version(claim, second)), "");
  EXPECT_EQ(apply(claim.id, second, std::nullopt), 0);
  EXPECT_EQ(difference(read(claim.id), std::nullopt), "");
  EXPECT_EQ(difference(refused(claim.id, second, std::nullopt), std::nullopt), "");
}

TEST_P(StoreSuite, RemovingNothingIsApplied) {
  promise("A swap to null that expects version 0 is Applied if there is no record.");
  EXPECT_EQ(apply(id_of(1), 0, std::nullopt), 0);
  EXPECT_EQ(difference(read(id_of(1)), std::nullopt), "");
}

// How a write of unknown fate is confirmed.
TEST_P(StoreSuite, ARecordCanBeSwappedWithItself) {
  promise("A swap to an equal record is a write like any other: it gets a new version.");
  const Record claim = claim_of(id_of(1));
  const Version first = apply(claim.id, 0, claim);
  const Version second = apply(claim.id, first, at_version(claim, first));
  EXPECT_NE(second, first);
  EXPECT_EQ(difference(read(claim.id), at_version(claim, second)), "");
}

TEST_P(StoreSuite, TheStoreChoosesTheVersion) {
  promise("The store chooses the version and ignores that of the record it is given.");
  const Record claim = claim_of(id_of(1));
  const Version version = apply(claim.id, 0, at_version(claim, 0xdeadbeefdeadbeef));
  EXPECT_NE(version, 0xdeadbeefdeadbeef);
  EXPECT_EQ(existing(claim.id).version, version);
}

// A zombie that remembers a version from before a purge must not meet it again.
TEST_P(StoreSuite, VersionsAreNotReusedAfterARemoval) {
  promise(
      "A version is never reused for an id, not even after the record was removed or the "
      "store was restarted.");
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
  promise("Every field of a record comes back as it was stored, byte for byte.");
  Record record = completion_of(id_of(1), kThen + 24h);
  record.answer.body = all_byte_values();
  record.answer.headers.push_back({"x-bytes", all_byte_values()});
  record.key = record.tenant = record.reason = all_byte_values();
  std::iota(record.handle.bytes.begin(), record.handle.bytes.end(), std::uint8_t{100});
  record.request = all_byte_values();
  record.tombstone_until = kThen + 48h;
  record.hold_until = kThen + 72h;
  const Version version = apply(record.id, 0, record);
  EXPECT_EQ(difference(read(record.id), at_version(record, version)), "");
}

TEST_P(StoreSuite, ASealedRecordComesBack) {
  promise("Record::sealed comes back as it was stored, unless the store seals records itself.");
  if (GetParam().differences.seals) return;
  Record record = completion_of(id_of(1), kThen + 24h);
  record.answer = {};
  record.sealed = {.key_id = "k1", .bytes = all_byte_values()};
  const Version version = apply(record.id, 0, record);
  EXPECT_EQ(difference(read(record.id), at_version(record, version)), "");
}

TEST_P(StoreSuite, LargeBodiesComeBack) {
  promise("Records of several megabytes come back as they were stored.");
  for (const std::size_t body_bytes : {std::size_t{32} << 10, std::size_t{4} << 20}) {
    Record record = completion_of(id_of(body_bytes), kThen + 24h);
    record.answer.body.resize(body_bytes);
    for (std::size_t i = 0; i < body_bytes; ++i) record.answer.body[i] = static_cast<char>(i * 31);
    const Version version = apply(record.id, 0, record);
    EXPECT_EQ(difference(read(record.id), at_version(record, version)), "") << body_bytes;
  }
}

TEST_P(StoreSuite, ATooLargeRecordChangesNothing) {
  promise("A record larger than features().record_bytes_max is TooLarge, and nothing is written.");
  const std::size_t limit = store().features().record_bytes_max;
  ASSERT_GT(limit, 0);
  const Record claim = claim_of(id_of(1));
  const Version version = apply(claim.id, 0, claim);
  Record huge = completion_of(claim.id, kThen + 24h);
  huge.answer.body.resize(limit + 1, 'x');
  const SwapResult result = swap(claim.id, version, std::move(huge));
  EXPECT_EQ(expect_result<swap::TooLarge>(result, version, "TooLarge").record_bytes_max, limit);
  EXPECT_EQ(difference(read(claim.id), at_version(claim, version)), "");
}

TEST_P(StoreSuite, ARefusedSwapChangesNothing) {
  promise("A Conflict changes nothing: neither what is due, nor what is listed, nor the stats.");
  const Record claim = claim_of(id_of(1));
  const Version version = apply(claim.id, 0, claim);
  Record late = unknown_of(claim.id, kThen);
  late.hold_until = kThen + 1min;
  refused(claim.id, version + 1, late);
  refused(claim.id, 0, late);
  refused(id_of(2), version, late);
  EXPECT_TRUE(sweep(kThen + 1min).empty());
  EXPECT_EQ(sweep(kThen + 1h), std::vector{claim.id});
  EXPECT_EQ(scan(10), std::vector{claim.id});
  expect_stats(0, std::nullopt);
}

TEST_P(StoreSuite, TheCallerOwnsTheCurrentRecordOfAConflict) {
  promise(
      "The caller owns the record that a Conflict brings, and the record that was refused: "
      "changing "
      "them changes nothing in the store.");
  const Record claim = claim_of(id_of(1));
  const Version version = apply(claim.id, 0, claim);
  const auto next = shared(completion_of(claim.id, kThen + 24h));
  const SwapResult result = run(store().swap(claim.id, version + 1, next));
  const auto& conflict = expect_result<swap::Conflict>(result, version + 1, "a Conflict");
  ASSERT_TRUE(conflict.current) << "a Conflict without the record";
  conflict.current->attempt = 99;
  next->attempt = 98;
  EXPECT_EQ(difference(read(claim.id), at_version(claim, version)), "");
}

TEST_P(StoreSuite, ARecordThatWasReadDoesNotChange) {
  promise("A record that was read stays as it was, whatever is written afterwards.");
  const Record claim = claim_of(id_of(1));
  const Version version = apply(claim.id, 0, claim);
  const auto found = run(store().read(claim.id));
  ASSERT_TRUE(found && *found);
  const Version later = apply(claim.id, version, completion_of(claim.id, kThen + 24h));
  EXPECT_EQ(difference(value_of(*found), at_version(claim, version)), "");
  apply(claim.id, later, std::nullopt);
  EXPECT_EQ(difference(value_of(*found), at_version(claim, version)), "");
}

TEST_P(StoreSuite, CachedCompletedIsNeverOutOfDate) {
  promise(
      "cached_completed() returns null, or the record as it is now; never one that is not "
      "completed.");
  const RecordId id = id_of(1);
  const auto expect_current = [&] {
    const RecordPtr cached = store().cached_completed(id);
    if (!cached) return;
    EXPECT_EQ(cached->state, RecordState::completed);
    EXPECT_EQ(difference(value_of(cached), read(id)), "");
  };
  Version version = apply(id, 0, claim_of(id));
  expect_current();
  version = apply(id, version, completion_of(id, kThen + 24h));
  expect_current();
  version = apply(id, version, completion_of(id, kThen + 48h));
  expect_current();
  version = apply(id, version, claim_of(id));
  expect_current();
  version = apply(id, version, completion_of(id, kThen + 72h));
  EXPECT_EQ(existing(id).version, version);
  apply(id, version, std::nullopt);
  expect_current();
}

}  // namespace semel::conformance
