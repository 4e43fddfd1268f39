// Which route a path has, and that a webhook's signature cannot be got round by spelling.
#include "runtime/routing.h"

#include <gtest/gtest.h>

#include "http/path.h"
#include "http/target.h"

namespace semel::runtime {
namespace {

config::RouteConfig plain(std::string path) {
  config::RouteConfig route;
  route.path = std::move(path);
  return route;
}

config::RouteConfig webhook(std::string path) {
  config::RouteConfig route = plain(std::move(path));
  route.webhook.emplace();
  return route;
}

std::optional<std::size_t> route_of(const Router& router, std::string_view target) {
  const auto parsed = http::parse_target(target);
  return parsed ? router.match(parsed->path) : std::nullopt;
}

TEST(LoosePath, ReadsAsTheMostLenientServiceDoes) {
  for (const char* spelling :
       {"/hooks/stripe",     "/hooks/stripe/",        "//hooks//stripe",      "/Hooks/STRIPE",
        "/hooks%2Fstripe",   "/hooks%252fstripe",     "/hooks\\stripe",       "/hooks%5Cstripe",
        "/hooks/stripe;v=1", "/hooks;x/stripe",       "/a/..%2Fhooks/stripe", "/hooks/./stripe/.",
        "/hooks/stripe.",    "/hooks/stripe%20",      "/hooks/stripe%00.png", "/hooks/stripe%3Fa=1",
        "/hooks/stripe%23a", "/hooks/%73tripe",       "/hooks/%%37%33tripe",  "/../hooks/stripe",
        "hooks/stripe",      "/a/..%20/hooks/stripe", "/a/..%09/hooks/stripe"}) {
    EXPECT_EQ(http::loose_path(spelling), "/hooks/stripe") << spelling;
  }
  EXPECT_EQ(http::loose_path("/"), "/");
  EXPECT_EQ(http::loose_path(""), "/");
  EXPECT_EQ(http::loose_path("/a%zz"), "/a%zz");
  EXPECT_EQ(http::without_extension("/hooks/stripe.json"), "/hooks/stripe");
  EXPECT_EQ(http::without_extension("/v1.2/stripe"), "/v1.2/stripe");
  EXPECT_EQ(http::without_extension("/hooks/.json"), "/hooks/.json");
}

TEST(Target, HasOneReading) {
  const std::pair<const char*, const char*> sent_as[] = {
      {"/v1/charges", "/v1/charges"},
      {"/a//b///c", "/a/b/c"},
      {"//hook", "/hook"},
      {"/%70ath/a%2Db", "/path/a-b"},
      {"/a%2fb", "/a%2Fb"},  // a slash in an id is no separator, and stays escaped
      {"/a%5cb", "/a%5Cb"},
      {"/%e2%82%ac", "/%E2%82%AC"},
      {"/a%20b%25", "/a%20b%25"},
      {"/.well-known/a", "/.well-known/a"},
      {"/a/...", "/a/..."},
      {"/a/..b/c.", "/a/..b/c."},
      {"/a;b=c/d", "/a;b=c/d"},
      {"/a?", "/a?"},
      {"/a?x=%zz&../..//%2e?\\", "/a?x=%zz&../..//%2e?\\"},
      {"http://h.example/a//b?c", "/a/b?c"},
      {"http://h.example?c", "/?c"},
      {"https://h.example", "/"},
  };
  for (const auto& [target, origin] : sent_as) {
    const auto parsed = http::parse_target(target);
    ASSERT_TRUE(parsed) << target << ": " << parsed.error();
    EXPECT_EQ(parsed->origin, origin) << target;
    EXPECT_EQ(parsed->path, parsed->origin.substr(0, parsed->origin.find('?'))) << target;
  }
  EXPECT_EQ(http::parse_target("http://h.example:80/a")->authority, "h.example:80");
}

TEST(Target, ThatLeadsElsewhereIsNone) {
  for (const char* target : {"/../a",
                             "/a/..",
                             "/a/.",
                             "/a/./b",
                             "/gh/../hook",
                             "/gh/%2e/hook",
                             "/gh/%2E%2e/hook",
                             "/gh/.%2E/hook",
                             "/gh/..%2fhook",
                             "/gh/..%5Chook",
                             "/gh%2F..%2fhook",
                             "/gh/%252e%252E/hook",
                             "/gh/..%252fhook",
                             "/gh/..;/hook",
                             "/gh/..;a=b/hook",
                             "/gh/..%3B/hook",
                             "/.",
                             "/..",
                             "/a\\b",
                             "/a/..\\b",
                             "\\a",
                             "/a%00",
                             "/a%zz",
                             "/a%2",
                             "/a%",
                             "/a#b",
                             "/caf\xc3\xa9",
                             "/a\x7f",
                             "/a\tb",
                             "/a b",
                             "/a?\xff",
                             "/a?b c",
                             "a",
                             "",
                             "?a",
                             "http:///a",
                             "http://",
                             "http://?a",
                             "HTTP://h/a",
                             "ftp://h/a",
                             "**"}) {
    EXPECT_FALSE(http::parse_target(target)) << target;
  }
}

TEST(Router, NoSpellingOfAWebhooksPathReachesTheCatchAll) {
  const Router router({plain("/x/*"), webhook("/hooks/stripe"), plain("/*")});
  EXPECT_EQ(route_of(router, "/hooks/stripe"), 1);
  EXPECT_EQ(route_of(router, "//hooks//stripe"), 1);
  for (const char* spelling :
       {"/hooks/stripe/", "/Hooks/Stripe", "/hooks%2Fstripe", "/hooks/stripe;a", "/hooks\\stripe",
        "/x/..%2fhooks/stripe", "/hooks/stripe.json", "/hooks/stripe%00",
        "/x/..%252Fhooks/stripe"}) {
    EXPECT_EQ(route_of(router, spelling), std::nullopt) << spelling;
  }
  EXPECT_EQ(route_of(router, "/hooks/stripe/events"), 2);
  EXPECT_EQ(route_of(router, "/hooks/github"), 2);
  EXPECT_EQ(route_of(router, "/x/y.json"), 0);
  EXPECT_EQ(route_of(router, "/Hooks/GitHub/"), 2);
}

TEST(Router, NoSpellingGetsOutOfATreeOfWebhooks) {
  const Router router({webhook("/hooks/*"), webhook("/{tenant}/events"), plain("/*")});
  EXPECT_EQ(route_of(router, "/hooks/a/"), 0);
  EXPECT_EQ(route_of(router, "/acme/events"), 1);
  for (const char* spelling : {"/hooks", "/HOOKS/", "/Hooks/a", "/acme/events/", "/acme/Events"}) {
    EXPECT_EQ(route_of(router, spelling), std::nullopt) << spelling;
  }
  EXPECT_EQ(route_of(router, "/acme/orders"), 2);
}

TEST(Router, WhatStandsBeforeTheWebhookOrNamesThePathKeepsIt) {
  const Router before({plain("/hooks/{any}"), webhook("/hooks/stripe"), plain("/*")});
  EXPECT_EQ(route_of(before, "/hooks/Stripe"), 0);
  const Router named({webhook("/hooks/stripe"), plain("/hooks/stripe.json"), plain("/*")});
  EXPECT_EQ(route_of(named, "/hooks/stripe.json"), 1);
  EXPECT_EQ(route_of(named, "/hooks/stripe.xml"), std::nullopt);
}

TEST(Router, WithoutAWebhookSpellingIsNotLookedAt) {
  const Router router({plain("/hooks/stripe"), plain("/*")});
  EXPECT_EQ(route_of(router, "/hooks/stripe/"), 1);
  EXPECT_EQ(route_of(router, "/Hooks/Stripe"), 1);
}

}  // namespace
}  // namespace semel::runtime
