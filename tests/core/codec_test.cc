// A record that is read is the record that was written, or an error. Never a guess.
#include "core/codec.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "base/hex.h"

namespace semel::core {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kFlagsAt = 3;
constexpr std::size_t kChecksumBytes = 4;

Time at(std::int64_t ms) {
  return Time(milliseconds(ms));
}

Record with_every_field() {
  Record r;
  r.state = RecordState::completed;
  r.attempt = 300;
  for (std::size_t i = 0; i < r.token.bytes.size(); ++i) {
    r.token.bytes[i] = static_cast<std::uint8_t>(i * 17);
  }
  r.owner = {"node-7", 0xfedcba9876543210};
  r.recipe.body = BodyRecipe::json;
  r.recipe.query = false;
  r.recipe.include = {"/amount", "/items/*/sku"};
  r.recipe.exclude = {"/sent_at"};
  r.recipe.headers = {"x-account"};
  r.fingerprint.digest.fill(0xab);
  r.fingerprint.parts = {1, 2, 3, 4, 5, 0xffffffffffffffff};
  r.lease_until = at(1'700'000'030'000);
  r.created_at = at(1'700'000'000'000);
  r.updated_at = at(1'700'000'000'777);
  r.expires_at = at(1'700'086'400'777);
  r.tombstone_until = at(1'700'691'200'777);
  r.hold_until = at(-1);
  r.ttl = hours(24);
  r.tombstone = hours(168);
  r.hold_for = hours(1);
  r.ttl_from_creation = true;
  r.result = RecordResult::failed;
  r.reason = "status 402";
  r.reason_code = ReasonCode::executor_status;
  r.only_auth_failures = true;
  r.status_begun = 200;
  r.answer.status = 402;
  r.answer.headers = {{"Content-Type", "application/json"}, {"X-Empty", ""}};
  r.answer.body = std::string("{\"error\":\0\xff\n}", 14);
  r.answer.body_note = BodyNote::omitted;
  r.response_version = "2024-06";
  r.resource_type = "charge";
  r.resource_id = "ch_1";
  r.trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  r.history = {{at(1'700'000'000'000), RecordState::in_progress, 300, "claimed"},
               {at(1'700'000'000'777), RecordState::completed, 300, "status 402"}};
  r.tenant = "acme";
  r.operation = "charges";
  r.key = "8e03978e-40d5-43dd-bc93-6894a57f9324";
  r.recipe.hash_key_id = "h1";
  r.answer.spilled_bytes = 5'000'000'000;
  r.handle.bytes.fill(0x5a);
  r.request = std::string("POST /\0\n", 8);
  r.sealed = {"k1", std::string("\0sealed", 7)};
  r.description = {"POST", "/v1/charges", {{"/amount", "4200"}, {"/note", "\"a\\u2026"}}};
  return r;
}

TEST(Codec, EveryFieldComesBack) {
  const Record written = with_every_field();
  const auto read = decode(encode(written));
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(*read, written);
}

TEST(Codec, TheEmptyRecordComesBack) {
  const auto read = decode(encode(Record{}));
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(*read, Record{});
}

TEST(Codec, IdAndVersionAreLeftToTheStore) {
  Record record = with_every_field();
  const std::string plain = encode(record);
  record.id.bytes.fill(9);
  record.version = 12;
  EXPECT_EQ(encode(record), plain);
}

class RandomRecord {
 public:
  explicit RandomRecord(unsigned seed) : random_(seed) {}

  Record make() {
    Record r;
    r.state = static_cast<RecordState>(below(6) + 1);
    r.attempt = static_cast<std::uint32_t>(random_());
    for (auto& byte : r.token.bytes) byte = static_cast<std::uint8_t>(random_());
    r.owner = {text(20), random_()};
    r.recipe = {
        static_cast<BodyRecipe>(below(4) + 1), below(2) == 1, texts(), texts(), texts(), {}};
    for (auto& byte : r.fingerprint.digest) byte = static_cast<std::uint8_t>(random_());
    r.fingerprint.parts.resize(below(9));
    for (auto& part : r.fingerprint.parts) part = random_();
    for (Time* time : {&r.lease_until, &r.created_at, &r.updated_at, &r.expires_at,
                       &r.tombstone_until, &r.hold_until}) {
      *time = below(4) == 0 ? kNever : at(static_cast<std::int64_t>(random_() >> 20));
    }
    r.ttl = milliseconds(random_() >> 30);
    r.tombstone = milliseconds(random_() >> 30);
    r.ttl_from_creation = below(2) == 1;
    r.result = static_cast<RecordResult>(below(3));
    r.reason = text(60);
    r.reason_code = static_cast<ReasonCode>(below(4) + 1);
    r.only_auth_failures = below(2) == 1;
    r.status_begun = static_cast<int>(below(600));
    r.answer = {static_cast<int>(below(600)), {}, text(5000), static_cast<BodyNote>(below(3))};
    r.answer.headers.resize(below(20));
    for (auto& header : r.answer.headers) header = {text(30), text(200)};
    r.response_version = text(10);
    r.resource_type = text(10);
    r.resource_id = text(30);
    r.trace = text(60);
    r.history.resize(below(kHistoryEntriesMax + 1));
    for (auto& entry : r.history) {
      entry = {at(static_cast<std::int64_t>(random_() >> 20)),
               static_cast<RecordState>(below(6) + 1), static_cast<std::uint32_t>(below(1000)),
               text(80)};
    }
    r.tenant = text(80);
    r.operation = text(40);
    r.key = text(255);
    if (below(2) == 1) {  // what version 1 does not hold
      r.recipe.hash_key_id = text(8);
      r.answer.spilled_bytes = random_() >> 20;
      for (auto& byte : r.handle.bytes) byte = static_cast<std::uint8_t>(random_());
      r.request = text(3000);
      r.sealed = {text(8), text(3000)};
    }
    if (below(2) == 1) {  // what only version 3 holds
      r.description = {text(10), text(100), {}};
      r.description.members.resize(below(17));
      for (auto& member : r.description.members) member = {text(20), text(256)};
    }
    return r;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  std::string text(std::size_t bytes_max) {
    std::string value(below(bytes_max + 1), '\0');
    for (char& c : value) c = static_cast<char>(random_());
    return value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values(below(4));
    for (auto& value : values) value = text(40);
    return values;
  }

  std::mt19937_64 random_;
};

TEST(Codec, RandomRecordsComeBack) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    const Record written = RandomRecord(seed).make();
    const auto read = decode(encode(written));
    ASSERT_TRUE(read.has_value()) << "seed " << seed << ": " << read.error();
    ASSERT_EQ(*read, written) << "seed " << seed;
  }
}

TEST(Codec, EveryFlippedBitIsAnError) {
  const std::string good = encode(with_every_field());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_FALSE(decode(bad).has_value()) << "bit " << bit;
  }
}

TEST(Codec, EveryTruncationIsAnError) {
  const std::string good = encode(with_every_field());
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    ASSERT_FALSE(decode(std::string_view(good).substr(0, bytes)).has_value()) << bytes;
  }
}

TEST(Codec, MoreThanARecordIsAnError) {
  const std::string good = encode(with_every_field());
  EXPECT_FALSE(decode(good + '\0').has_value());
  EXPECT_FALSE(decode(good + good).has_value());
}

TEST(Codec, AnotherFormatIsAnErrorThatSaysSo) {
  std::string later = encode(with_every_field());
  later[0] = 4;
  const auto read = decode(later);
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().find("format 4"), std::string::npos) << read.error();
}

constexpr std::string_view kGolden =
    "01"                                                                // format
    "04"                                                                // released
    "00"                                                                // no result
    "28"                                                                // flags, reason's code
    "02"                                                                // attempt
    "11111111111111111111111111111111"                                  // token
    "016e"                                                              // owner
    "0300000000000000"                                                  // run
    "0500000000000000"                                                  // lease_until
    "0600000000000000"                                                  // created_at
    "0700000000000000"                                                  // updated_at
    "0800000000000000"                                                  // expires_at
    "0900000000000000"                                                  // tombstone_until
    "ffffffffffffff7f"                                                  // hold_until
    "0a00000000000000"                                                  // ttl
    "0b00000000000000"                                                  // tombstone
    "ffffffffffffff7f"                                                  // hold_for
    "03000000"                                                          // recipe
    "2222222222222222222222222222222222222222222222222222222222222222"  // fingerprint
    "010400000000000000"                                                // its parts
    "0172"                                                              // reason
    "00"                                                                // status_begun
    "000000"                                                            // no answer
    "0131"                                                              // response_version
    "000000"                                                            // resource, trace
    "0174016f016b"                                                      // tenant, operation, key
    "01"                                                                // history
    "0c0000000000000004020168"                                          // its entry
    "607a6f70";                                                         // checksum
// The golden record as it was written before reasons had codes.
constexpr std::string_view kGoldenWithoutCode =
    "010400080211111111111111111111111111111111016e03000000000000000500000000000000060000000000"
    "0000070000000000000008000000000000000900000000000000ffffffffffffff7f0a000000000000000b0000"
    "0000000000ffffffffffffff7f0300000022222222222222222222222222222222222222222222222222222222"
    "2222222201040000000000000001720000000001310000000174016f016b010c000000000000000402016822a9"
    "650b";

Record golden() {
  Record r;
  r.state = RecordState::released;
  r.attempt = 2;
  r.token.bytes.fill(0x11);
  r.owner = {"n", 3};
  r.recipe.version = 1;
  r.fingerprint.digest.fill(0x22);
  r.fingerprint.parts = {4};
  r.lease_until = at(5);
  r.created_at = at(6);
  r.updated_at = at(7);
  r.expires_at = at(8);
  r.tombstone_until = at(9);
  r.ttl = milliseconds(10);
  r.tombstone = milliseconds(11);
  r.reason = "r";
  r.reason_code = ReasonCode::other;
  r.response_version = "1";
  r.history = {{at(12), RecordState::released, 2, "h"}};
  r.tenant = "t";
  r.operation = "o";
  r.key = "k";
  return r;
}

// Records outlive the program that wrote them. If this fails, the format has changed: give it a new
// version byte and go on reading this one.
TEST(Codec, TheFormatIsWhatItWas) {
  EXPECT_EQ(base::encode_hex(encode(golden())), kGolden);
}

// The record as it was written before reasons had codes.
std::string written_without_code(const Record& record) {
  std::string bytes = encode(record);
  bytes.resize(bytes.size() - kChecksumBytes);
  bytes[kFlagsAt] = static_cast<char>(bytes[kFlagsAt] & 0x1f);
  const auto* data = reinterpret_cast<const Bytef*>(bytes.data());
  const auto sum = static_cast<std::uint32_t>(crc32_z(0, data, bytes.size()));
  for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(sum >> shift));
  return bytes;
}

TEST(Codec, ARecordThatWasWrittenBeforeReasonsHadCodesIsRead) {
  EXPECT_EQ(base::encode_hex(written_without_code(golden())), kGoldenWithoutCode);
  const auto read = decode(written_without_code(golden()));
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(*read, golden());
}

// Before, these texts were what was decided by. A node of that version may also write a record that
// had a code, and the code is lost.
TEST(Codec, AReasonWithoutACodeGetsTheOneThatItsTextStoodFor) {
  const std::pair<const char*, ReasonCode> all[] = {
      {"", ReasonCode::none},
      {"status 503", ReasonCode::executor_status},
      {"status 201, late", ReasonCode::executor_status},
      {"status", ReasonCode::other},
      {"probed: status 201", ReasonCode::other},
      {"dead letter after 3 attempts: status 503", ReasonCode::other},
      {"its owner is gone", ReasonCode::other},
      {"observed: no answer", ReasonCode::observed_unknown},
  };
  for (const auto& [text, code] : all) {
    for (const bool is_second_format : {false, true}) {
      Record record = golden();
      record.reason = text;
      record.reason_code = ReasonCode::operator_decision;
      if (is_second_format) record.request = "q";
      const auto read = decode(written_without_code(record));
      ASSERT_TRUE(read.has_value()) << read.error();
      EXPECT_EQ(read->reason_code, code) << text;
    }
  }
}

// A node of the version before ignores these bits, so it reads what this one writes.
TEST(Codec, TheCodeIsInBitsThatTheVersionBeforeDoesNotRead) {
  constexpr std::uint8_t kRead = 1 | 2 | 4 | 8 | 16;
  for (unsigned code = 0; code <= 4; ++code) {
    Record record = golden();
    record.reason_code = static_cast<ReasonCode>(code);
    const std::string bytes = encode(record);
    EXPECT_EQ(bytes[0], 1) << "the version byte";
    EXPECT_EQ(bytes[kFlagsAt] & kRead, 8);
    EXPECT_EQ(static_cast<std::uint8_t>(bytes[kFlagsAt]) >> 5, code);
    const std::string before = written_without_code(record);
    EXPECT_EQ(bytes.substr(kFlagsAt + 1, bytes.size() - kFlagsAt - 1 - kChecksumBytes),
              before.substr(kFlagsAt + 1, before.size() - kFlagsAt - 1 - kChecksumBytes));
  }
}

TEST(Codec, ACodeOfALaterVersionIsNothingToDecideBy) {
  for (const unsigned code : {5u, 6u, 7u}) {
    Record record = golden();
    record.reason_code = static_cast<ReasonCode>(code);
    EXPECT_EQ(decode(encode(record)).value().reason_code, ReasonCode::other);
  }
}

// The version of the recipe is in the byte that says how it reads a body, and nowhere else.
TEST(Codec, TheRecipesVersionStandsBesideTheKindOfTheBody) {
  Record newer = golden();
  newer.recipe.version = 2;
  std::string newer_bytes = encode(newer);
  const std::size_t recipe_at = kGolden.find("ffffffffffffff7f03000000") / 2 + 8;
  EXPECT_EQ(newer_bytes[recipe_at], 0x13);
  newer_bytes[recipe_at] = 0x03;
  EXPECT_EQ(newer_bytes.substr(0, newer_bytes.size() - 4),
            encode(golden()).substr(0, newer_bytes.size() - 4));
  newer.recipe.version = kRecipeVersion + 1;
  EXPECT_FALSE(decode(encode(newer)).has_value()) << "nobody knows how to compare under it";
}

Record golden_of_second_format() {
  Record later = golden();
  later.handle.bytes.fill(0x33);
  later.request = "q";
  later.sealed = {"k", "s"};
  later.answer.spilled_bytes = 13;
  later.recipe.hash_key_id = "h";
  return later;
}

// Fields that version 1 cannot hold follow it, under another version byte.
TEST(Codec, TheSecondFormatIsTheFirstWithMoreAtItsEnd) {
  const std::string bytes = encode(golden_of_second_format());
  const std::string first = encode(golden());
  EXPECT_EQ(bytes[0], 2);
  EXPECT_EQ(bytes.substr(1, first.size() - 5), first.substr(1, first.size() - 5));
  EXPECT_EQ(bytes.substr(first.size() - 4, bytes.size() - first.size()),
            std::string(16, '\x33') + "\1q" + "\1k" + "\1s" + "\x0d" + "\1h");
}

constexpr std::string_view kGoldenOfSecondFormat =
    "020400280211111111111111111111111111111111016e03000000000000000500000000000000060000000000"
    "0000070000000000000008000000000000000900000000000000ffffffffffffff7f0a000000000000000b0000"
    "0000000000ffffffffffffff7f0300000022222222222222222222222222222222222222222222222222222222"
    "2222222201040000000000000001720000000001310000000174016f016b010c00000000000000040201683333"
    "33333333333333333333333333330171016b01730d01680e743248";

TEST(Codec, TheSecondFormatIsWhatItWas) {
  EXPECT_EQ(base::encode_hex(encode(golden_of_second_format())), kGoldenOfSecondFormat);
  const auto read = decode(base::decode_hex(kGoldenOfSecondFormat).value());
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(*read, golden_of_second_format());
}

TEST(Codec, TheThirdFormatIsTheSecondWithMoreAtItsEnd) {
  Record later = golden_of_second_format();
  later.description = {"PUT", "/p", {{"/a", "1"}, {"/b", "{}"}}};
  const std::string bytes = encode(later);
  const std::string second = encode(golden_of_second_format());
  EXPECT_EQ(bytes[0], 3);
  EXPECT_EQ(bytes.substr(1, second.size() - 5), second.substr(1, second.size() - 5));
  EXPECT_EQ(bytes.substr(second.size() - 4, bytes.size() - second.size()),
            std::string("\3PUT") + "\2/p" + "\2" + "\2/a" + "\1" + "1" + "\2/b" + "\2{}");
}

// Nodes of an earlier release read everything that describes no request.
TEST(Codec, ARecordIsWrittenInTheFirstFormatThatHoldsIt) {
  EXPECT_EQ(encode(golden())[0], 1);
  EXPECT_EQ(encode(golden_of_second_format())[0], 2);
  for (const Description& description : {Description{"POST", "", {}}, Description{"", "/", {}},
                                         Description{"", "", {{"/a", "1"}}}}) {
    Record record = golden();
    record.description = description;
    EXPECT_EQ(encode(record)[0], 3);
    EXPECT_EQ(decode(encode(record)).value(), record);
  }
}

}  // namespace
}  // namespace semel::core
