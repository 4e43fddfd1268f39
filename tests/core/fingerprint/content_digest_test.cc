#include "core/fingerprint/content_digest.h"

#include <gtest/gtest.h>

#include <string>

#include "base/base64.h"

namespace semel::core {
namespace {

// RFC 9530, appendix B.
const std::string kBody = "{\"hello\": \"world\"}\n";
const std::string kSha256 = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:";
const std::string kSha512 =
    "sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/"
    "WkppmM44T3qg==:";

bool agrees(std::string_view field, const std::string& body) {
  auto digest = ContentDigest::parse(field);
  EXPECT_TRUE(digest && *digest) << field;
  if (!digest || !*digest) return false;
  for (char c : body) (*digest)->update({&c, 1});
  return (*digest)->matches();
}

TEST(ContentDigest, HoldsTheFieldAgainstTheBody) {
  EXPECT_TRUE(agrees(kSha256, kBody));
  EXPECT_TRUE(agrees(kSha512, kBody));
  EXPECT_TRUE(agrees(kSha256 + " , " + kSha512, kBody));
  EXPECT_TRUE(agrees("md5=:AAAAAAAAAAAAAAAAAAAAAA==:, " + kSha256, kBody));
  EXPECT_FALSE(agrees(kSha256, kBody + " "));
  EXPECT_FALSE(agrees(kSha512, "{\"hello\": \"World\"}\n"));
}

TEST(ContentDigest, BothMustAgreeWhereBothAreNamed) {
  std::string wrong = kSha512;
  wrong[9] = 'Z';
  EXPECT_FALSE(agrees(kSha256 + ", " + wrong, kBody));
}

TEST(ContentDigest, AnUnknownAlgorithmSaysNothing) {
  for (std::string_view field : {"", "md5=:AAAA:", "unixsum=:AAAA:, crc32c=:AAAA:"}) {
    const auto digest = ContentDigest::parse(field);
    ASSERT_TRUE(digest) << field;
    EXPECT_FALSE(*digest) << field;
  }
}

TEST(ContentDigest, WhatCannotBeReadIsAnError) {
  for (std::string_view field :
       {"sha-256", "sha-256=abc", "sha-256=:AAAA:", "sha-256=:A!AA:", "sha-256=:AAAA",
        "=:AAAA:", "SHA-256=:AAAA:", "md5=:AAAA:,", "md5=:AAAA: md5=:AAAA:", "sha-512=:AAAA:"}) {
    EXPECT_FALSE(ContentDigest::parse(field)) << field;
  }
}

TEST(Base64, HasOneSpellingOfEveryValue) {
  EXPECT_EQ(base::decode_base64(""), "");
  EXPECT_EQ(base::decode_base64("Zg=="), "f");
  EXPECT_EQ(base::decode_base64("Zm8="), "fo");
  EXPECT_EQ(base::decode_base64("Zm9v"), "foo");
  for (std::string_view bad : {"Zg", "Zg=", "Zh==", "Zm9=", "Z===", "Zm 9v", "Zm9v=", "Zm_v"}) {
    EXPECT_FALSE(base::decode_base64(bad)) << bad;
  }
}

}  // namespace
}  // namespace semel::core
