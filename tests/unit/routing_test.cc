// Which route a path has, and that a webhook's signature cannot be got round by spelling.
#include "gateway/routing.h"

#include <gtest/gtest.h>

#include "gateway/loose_path.h"

namespace semel {
namespace {

RouteConfig plain(std::string path) {
  RouteConfig route;
  route.path = std::move(path);
  return route;
}

RouteConfig webhook(std::string path) {
  RouteConfig route = plain(std::move(path));
  route.webhook.emplace();
  return route;
}

std::optional<std::size_t> route_of(const Router& router, std::string_view target) {
  const auto parsed = parse_target(target);
  return parsed ? router.match(parsed->path) : std::nullopt;
}

TEST(LoosePath, ReadsAsTheMostLenientServiceDoes) {
  for (const char* spelling :
       {"/hooks/stripe",     "/hooks/stripe/",    "//hooks//stripe",      "/Hooks/STRIPE",
        "/hooks%2Fstripe",   "/hooks%252fstripe", "/hooks\\stripe",       "/hooks%5Cstripe",
        "/hooks/stripe;v=1", "/hooks;x/stripe",   "/a/..%2Fhooks/stripe", "/hooks/./stripe/.",
        "/hooks/stripe.",    "/hooks/stripe%20",  "/hooks/stripe%00.png", "/hooks/stripe%3Fa=1",
        "/hooks/stripe%23a", "/hooks/%73tripe",   "/hooks/%%37%33tripe",  "/../hooks/stripe",
        "hooks/stripe"}) {
    EXPECT_EQ(loose_path(spelling), "/hooks/stripe") << spelling;
  }
  EXPECT_EQ(loose_path("/"), "/");
  EXPECT_EQ(loose_path(""), "/");
  EXPECT_EQ(loose_path("/a%zz"), "/a%zz");
  EXPECT_EQ(without_extension("/hooks/stripe.json"), "/hooks/stripe");
  EXPECT_EQ(without_extension("/v1.2/stripe"), "/v1.2/stripe");
  EXPECT_EQ(without_extension("/hooks/.json"), "/hooks/.json");
}

TEST(Router, NoSpellingOfAWebhooksPathReachesTheCatchAll) {
  const Router router({plain("/x/*"), webhook("/hooks/stripe"), plain("/*")});
  EXPECT_EQ(route_of(router, "/hooks/stripe"), 1);
  EXPECT_EQ(route_of(router, "//hooks/./stripe"), 1);
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
}  // namespace semel
