#include "client/wire/url.h"

#include <gtest/gtest.h>

#include "client/request.h"
#include "client/uuid.h"

namespace semel::client {
namespace {

TEST(Url, IsTakenApart) {
  const auto url = parse_url("HTTPS://Api.Example/v1/charges?a=b#part");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->origin, (Origin{true, "api.example", 443}));
  EXPECT_EQ(url->target, "/v1/charges?a=b");
  EXPECT_EQ(url->origin.host_field(), "api.example");
  EXPECT_EQ(parse_url("http://[::1]:8080")->origin, (Origin{false, "::1", 8080}));
  EXPECT_EQ(parse_url("http://[::1]:8080")->origin.host_field(), "[::1]:8080");
  EXPECT_EQ(parse_url("http://h?x")->target, "/?x");
}

TEST(Url, RefusesWhatCannotBeSent) {
  for (const char* text :
       {"", "api.example/", "ftp://h/", "http://", "http://:80/", "http://h:0/", "http://h:65536/",
        "http://h:8x/", "http://u:p@h/", "http://h/a b", "http://h/\r\nX: y", "http://h/\xc3\xa4",
        "http://[::1/", "http://a b/"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
}

TEST(Url, ResolvesALocation) {
  const Url base = *parse_url("https://h/a/b");
  EXPECT_EQ(resolve(base, "/c?d")->target, "/c?d");
  EXPECT_EQ(resolve(base, "/c")->origin, base.origin);
  EXPECT_NE(resolve(base, "http://h/c")->origin, base.origin);
  EXPECT_EQ(resolve(base, "https://H:443/c")->origin, base.origin);
  for (const char* text : {"", "c", "//other/c", "/a b", "javascript:x"}) {
    EXPECT_FALSE(resolve(base, text)) << text;
  }
}

TEST(Uuid, HasItsVersionAndVariant) {
  RandomBytes ones;
  ones.fill(0xff);
  EXPECT_EQ(uuid_v4(ones), "ffffffff-ffff-4fff-bfff-ffffffffffff");
  EXPECT_EQ(uuid_v4({}), "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(uuid_v7(ones, Time(Duration(0x017f22e279b0))), "017f22e2-79b0-7fff-bfff-ffffffffffff");
}

TEST(Request, TheKeyIsAStringOrBare) {
  EXPECT_EQ(key_field("a\"b\\c", false), R"("a\"b\\c")");
  EXPECT_EQ(key_field("order-1", true), "order-1");
  EXPECT_THROW(key_field("a,b", true), Client::Error);
  EXPECT_THROW(key_field("", false), Client::Error);
  EXPECT_THROW(key_field("a\nb", false), Client::Error);
  EXPECT_THROW(key_field(std::string(256, 'a'), false), Client::Error);
}

TEST(Request, HasNoHeaderThatIsTheClientsOwn) {
  const Url base = *parse_url("http://h/");
  for (const Header& header : std::vector<Header>{{"Content-Length", "5"},
                                                  {"idempotency-key", "mine"},
                                                  {"A", "b\r\nC: d"},
                                                  {"A b", "c"},
                                                  {"", "c"}}) {
    EXPECT_THROW(prepare({}, base, {"POST", "/", "", {header}}), Client::Error) << header.name;
  }
  EXPECT_THROW(prepare({}, base, {"PO ST", "/", "", {}}), Client::Error);
  EXPECT_THROW(prepare({}, base, {"POST", "charges", "", {}}), Client::Error);
}

TEST(Request, StandsUnderItsBase) {
  const Url base = *parse_url("http://h/api/");
  EXPECT_EQ(prepare({}, base, {"POST", "/v1?a=b", "", {}}).url.target, "/api/v1?a=b");
  EXPECT_EQ(prepare({}, base, {"POST", "", "", {}}).url.target, "/api/");
}

}  // namespace
}  // namespace semel::client
