#include "config/reading/values.h"

#include <gtest/gtest.h>

namespace semel::config::reading {
namespace {

TEST(ConfigValues, TakesAUrlApart) {
  const auto url = parse_url("http://auth.internal:8080/check?x=1&key={key}");
  ASSERT_TRUE(url) << url.error();
  EXPECT_FALSE(url->tls);
  EXPECT_EQ(url->address, (HostPort{"auth.internal", 8080}));
  EXPECT_EQ(url->target, "/check?x=1&key={key}");
  EXPECT_EQ(url->authority(), "auth.internal:8080");
}

TEST(ConfigValues, AUrlWithoutAPathOrPortHasTheUsualOnes) {
  const auto url = parse_url("http://10.0.0.1");
  ASSERT_TRUE(url) << url.error();
  EXPECT_EQ(url->address, (HostPort{"10.0.0.1", 80}));
  EXPECT_EQ(url->target, "/");
  EXPECT_EQ(url->authority(), "10.0.0.1");

  const auto query = parse_url("http://[::1]:81?a=b");
  ASSERT_TRUE(query) << query.error();
  EXPECT_EQ(query->address, (HostPort{"::1", 81}));
  EXPECT_EQ(query->target, "/?a=b");
  EXPECT_EQ(query->authority(), "[::1]:81");
}

TEST(ConfigValues, AUrlWithTlsHasAPortOfItsOwn) {
  const auto url = parse_url("HTTPS://auth/x");
  ASSERT_TRUE(url) << url.error();
  EXPECT_TRUE(url->tls);
  EXPECT_EQ(url->address, (HostPort{"auth", 443}));
  EXPECT_EQ(url->authority(), "auth");
  EXPECT_EQ(parse_url("https://auth:80/")->authority(), "auth:80");
}

TEST(ConfigValues, RefusesWhatIsNotAUrl) {
  for (const char* text :
       {"", "auth", "ftp://a/", "http://", "http:///x", "http://a:0/", "http://a:99999/",
        "http://u@a/", "http://a/#f", "http://a/b c", "http://a/\r\nX: y", "http://10.0.0.300/"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
}

}  // namespace
}  // namespace semel::config::reading
