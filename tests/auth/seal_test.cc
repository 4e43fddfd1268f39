#include "auth/seal.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/codec.h"

namespace semel::auth {
namespace {

const std::string kZeros = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const std::string kOnes = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

SealingKeys keys_of(const std::string& text) {
  return SealingKeys::parse(text).value();
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    out += "0123456789abcdef"[static_cast<std::uint8_t>(c) >> 4];
    out += "0123456789abcdef"[c & 15];
  }
  return out;
}

// Test case 14 of the GCM specification.
TEST(Seal, IsAes256Gcm) {
  const SealingKey key = keys_of("k:" + kZeros).for_writing();
  const std::string sealed = seal(key, SealNonce{}, "", std::string(16, '\0'));
  EXPECT_EQ(hex(sealed.substr(12)),
            "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919");
}

TEST(Seal, OpensWithItsKeyForItsPurposeOnly) {
  const SealingKeys keys = keys_of("one:" + kOnes + "\nzero:" + kZeros);
  const std::string sealed = seal(keys.for_writing(), {1, 2, 3}, "for A", "the answer");
  EXPECT_EQ(unseal(keys.for_writing(), "for A", sealed), "the answer");
  EXPECT_EQ(unseal(keys.for_writing(), "for B", sealed), std::nullopt);
  EXPECT_EQ(unseal(*keys.find("zero"), "for A", sealed), std::nullopt);
  EXPECT_EQ(unseal(keys.for_writing(), "for A", seal(keys.for_writing(), {9}, "for A", "")), "");
}

TEST(Seal, EveryFlippedBitAndEveryCutIsSeen) {
  const SealingKey key = keys_of("k:" + kOnes).for_writing();
  const std::string sealed = seal(key, {7}, "A", "the answer");
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    std::string changed = sealed;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(unseal(key, "A", changed), std::nullopt) << bit;
  }
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_EQ(unseal(key, "A", sealed.substr(0, size)), std::nullopt) << size;
  }
}

TEST(SealingKeys, TheFirstWritesAndAllRead) {
  const SealingKeys keys =
      keys_of("# rotated in May\r\n\n new-1 : " + kOnes + " \r\nold_0.9:" + kZeros + "\n");
  EXPECT_EQ(keys.for_writing().id, "new-1");
  EXPECT_EQ(keys.for_writing().bytes[0], 1);
  ASSERT_TRUE(keys.find("old_0.9"));
  EXPECT_EQ(keys.find("old_0.9")->bytes[0], 0);
  EXPECT_EQ(keys.find("old"), nullptr);
}

TEST(SealingKeys, AMistakeIsNamedByItsLineAndNeverByTheKey) {
  const std::string secret = "c2VjcmV0";
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "it has no key"},
           {"# nothing\n", "it has no key"},
           {secret, "line 1: must be id:key"},
           {"\nk:" + secret, "line 2: the key 'k' is not 32 bytes in base64"},
           {"k:" + kZeros.substr(1), "line 1: the key 'k' is not 32 bytes in base64"},
           {":" + kZeros, "line 1: the id must be"},
           {"a b:" + kZeros, "line 1: the id must be"},
           {std::string(65, 'k') + ":" + kZeros, "line 1: the id must be"},
           {"k:" + kZeros + "\nk:" + kOnes, "line 2: the id 'k' is listed twice"}}) {
    const auto keys = SealingKeys::parse(text);
    ASSERT_FALSE(keys) << text;
    EXPECT_TRUE(keys.error().starts_with(why)) << keys.error();
    EXPECT_EQ(keys.error().find(secret), std::string::npos);
  }
}

TEST(RecordContent, SurvivesAndIsAllThatIsSecret) {
  Record record;
  EXPECT_FALSE(core::has_content(record));
  record.answer.status = 201;
  record.answer.headers = {{"a", "b"}, {"c", ""}};
  record.answer.body = std::string("\0body", 5);
  record.answer.body_note = BodyNote::spilled;
  record.request = "POST";
  ASSERT_TRUE(core::has_content(record));
  Record other;
  ASSERT_TRUE(core::decode_content(core::encode_content(record), other));
  EXPECT_EQ(other.answer.status, 201);
  EXPECT_EQ(other.answer.headers, record.answer.headers);
  EXPECT_EQ(other.answer.body, record.answer.body);
  EXPECT_EQ(other.request, record.request);
  EXPECT_EQ(other.description, Description{});
  record.description.members = {{"/amount", "4200"}, {"/note", ""}};
  ASSERT_TRUE(core::decode_content(core::encode_content(record), other));
  EXPECT_EQ(other.request, record.request);
  EXPECT_EQ(other.description, record.description);
  EXPECT_FALSE(core::decode_content(core::encode_content(record) + "x", other));
  EXPECT_FALSE(core::decode_content("\x01", other));
}

TEST(RecordContent, DescribedMembersAloneAreContent) {
  Record record;
  record.description = {"POST", "/charges", {}};
  EXPECT_FALSE(core::has_content(record));
  record.description.members = {{"/amount", "4200"}};
  EXPECT_TRUE(core::has_content(record));
}

TEST(SpilledUnder, IsTheTokenOfASpilledRecordOnly) {
  Record record;
  record.token.bytes.fill(5);
  EXPECT_EQ(core::spilled_under(encode(record)), std::nullopt);
  record.sealed = {"k", "bytes"};
  EXPECT_EQ(core::spilled_under(encode(record)), std::nullopt);
  record.answer.body_note = BodyNote::spilled;
  EXPECT_EQ(core::spilled_under(encode(record)), record.token);
  EXPECT_EQ(core::spilled_under(""), std::nullopt);
}

}  // namespace
}  // namespace semel::auth
