#include "check/wire/target.h"

#include <gtest/gtest.h>

#include "check/report/report.h"

namespace semel::check {
namespace {

TEST(Target, IsTakenApartAndPutTogether) {
  const auto target = parse_target("https://[::1]:8443/v1/charges?a=b#part");
  ASSERT_TRUE(target);
  EXPECT_TRUE(target->tls);
  EXPECT_EQ(target->host, "::1");
  EXPECT_EQ(target->path, "/v1/charges?a=b");
  EXPECT_EQ(target->url(), "https://[::1]:8443/v1/charges?a=b");
  EXPECT_EQ(parse_target("http://a?x")->path, "/?x");
  EXPECT_EQ(parse_target("http://a:80/")->authority(), "a");
  for (const char* bad :
       {"a/b", "http://", "http://a b/", "http://a:b/", "http://[::1/", "http://u@a/"}) {
    EXPECT_FALSE(parse_target(bad)) << bad;
  }
}

TEST(Target, LoopbackIsToldFromEverythingElse) {
  EXPECT_TRUE(is_loopback(*parse_target("http://127.9.9.9/")));
  EXPECT_TRUE(is_loopback(*parse_target("http://[::1]/")));
  EXPECT_FALSE(is_loopback(*parse_target("http://128.0.0.1/")));
  EXPECT_FALSE(is_loopback(*parse_target("http://[2001:db8::1]/")));
}

TEST(Target, ProductionIsWhatDoesNotSayOtherwise) {
  EXPECT_TRUE(looks_like_production("api.shop.example"));
  EXPECT_TRUE(looks_like_production("192.0.2.1"));
  EXPECT_FALSE(looks_like_production("Staging.shop.example"));
  EXPECT_FALSE(looks_like_production("shop.sandbox.example"));
}

TEST(CheckReport, TextOfTheEndpointCannotSteerAnything) {
  EXPECT_EQ(printable("a\x1b[1m\n\xff"), "a\\x1b[1m\\x0a\\xff");
  EXPECT_EQ(markup_escaped("<a b='&\">"), "&lt;a b=&#39;&amp;&quot;&gt;");
  EXPECT_EQ(shown_section("2.6, 2.7"), "§2.6, 2.7");
  EXPECT_EQ(shown_section("RFC 9110 9.2.2"), "RFC 9110 9.2.2");
}

}  // namespace
}  // namespace semel::check
