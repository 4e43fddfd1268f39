#include <chrono>

#include "config/config.h"
#include "config/config_support.h"

namespace semel::config::test {
namespace {

using std::chrono::days;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;

constexpr const char* kEveryKey = R"(
tenant: {from: none}
routes:
  - name: charges
    path: /v1/charges/{id}
    methods: [PUT, DELETE]
    mode: enforce
    profile: ietf
    upstream: [http://a:81/base/, "http://[::1]"]
    connect_timeout: 1s
    upstream_timeout: 2s
    upstream_idle: 0s
    late_answer: 3s
    max_execution: 4s
    key:
      required: true
      header: X-Key
      aliases: [PayPal-Request-Id]
      from: pointer
      pointer: /idempotency_key
      min_length: 5
      max_length: 6
      format: uuid
    scope: path
    forward_key: none
    fingerprint: {body: json, include: [/a], exclude: [/b/*/c], headers: [X-Shop], query: false}
    in_progress: wait
    wait_timeout: 5m
    outcomes: cautious
    on_retry: forget
    completes: gateway
    unknown: retry
    hold_for: 30d
    lease: 7s
    ttl: 45d
    ttl_from: creation
    tombstone: 8d
    response_version: 2
    on_version_change: new
    describe: [/amount, /items/0/id]
    max_request_body: 9KiB
    max_stored_body: 10KiB
    max_spilled_body: 11KiB
    replay_headers: {deny: [X-Trace], allow: [Set-Cookie]}
    replayed_header: X-Replayed
    store_down: pass
    statuses: {mismatch: 409, in_progress: 423}
    errors: flat
    retry_after: {in_progress: 3s, unknown: 5m}
    cors: {origins: [https://app.example], expose: [X-Trace], credentials: true}
    docs_url: https://example.com/keys
)";

TEST(ConfigRoute, ReadsEveryKeyOfTheRequest) {
  const RouteConfig route = config_of(kEveryKey).routes.at(0);
  EXPECT_EQ(route.name, "charges");
  EXPECT_EQ(route.path, "/v1/charges/{id}");
  EXPECT_THAT(route.methods, ElementsAre("PUT", "DELETE"));
  ASSERT_EQ(route.upstreams.size(), 2u);
  EXPECT_EQ(route.upstreams[0].address, (HostPort{"a", 81}));
  EXPECT_EQ(route.upstreams[0].base_path, "/base");
  EXPECT_EQ(route.upstreams[1].address, (HostPort{"::1", 80}));
  EXPECT_EQ(route.upstreams[1].base_path, "");
  EXPECT_EQ(route.connect_timeout, seconds(1));
  EXPECT_EQ(route.upstream_timeout, seconds(2));
  EXPECT_EQ(route.upstream_idle, seconds(0));
  EXPECT_EQ(route.late_answer, seconds(3));
  EXPECT_EQ(route.operation.max_execution, seconds(4));
  EXPECT_TRUE(route.key.required);
  EXPECT_EQ(route.key.header, "X-Key");
  EXPECT_THAT(route.key.aliases, ElementsAre("PayPal-Request-Id"));
  EXPECT_EQ(route.key.from, KeySource::pointer);
  EXPECT_EQ(route.key.pointer, "/idempotency_key");
  EXPECT_EQ(route.key.rules.min_length, 5u);
  EXPECT_EQ(route.key.rules.max_length, 6u);
  EXPECT_EQ(route.key.rules.format, KeyFormat::uuid);
  EXPECT_EQ(route.scope, ScopeKind::path);
  EXPECT_EQ(route.forward_key, ForwardKey::none);
  EXPECT_EQ(route.fingerprint.body, BodyFingerprint::json);
  EXPECT_THAT(route.fingerprint.include, ElementsAre("/a"));
  EXPECT_THAT(route.fingerprint.exclude, ElementsAre("/b/*/c"));
  EXPECT_THAT(route.fingerprint.headers, ElementsAre("x-shop"));
  EXPECT_FALSE(route.fingerprint.query);
}

TEST(ConfigRoute, ReadsEveryKeyOfTheRulesAndTheAnswer) {
  const RouteConfig route = config_of(kEveryKey).routes.at(0);
  EXPECT_EQ(route.in_progress, InProgress::wait);
  EXPECT_EQ(route.wait_timeout, minutes(5));
  EXPECT_EQ(kind_of(route, 500), OutcomeKind::unknown);
  EXPECT_EQ(route.operation.on_retry, OnRetry::forget);
  EXPECT_EQ(route.operation.unknown, UnknownPolicy::retry);
  EXPECT_EQ(route.operation.hold_for, days(30));
  EXPECT_EQ(route.operation.lease, seconds(7));
  EXPECT_EQ(route.operation.ttl, days(45));
  EXPECT_TRUE(route.operation.ttl_from_creation);
  EXPECT_EQ(route.operation.tombstone, days(8));
  EXPECT_EQ(route.operation.response_version, "2");
  EXPECT_EQ(route.operation.on_version_change, OnVersionChange::fresh);
  EXPECT_THAT(route.describe, ElementsAre("/amount", "/items/0/id"));
  EXPECT_EQ(route.max_request_body, 9u * 1024);
  EXPECT_EQ(route.max_stored_body, 10u * 1024);
  EXPECT_EQ(route.max_spilled_body, 11u * 1024);
  EXPECT_THAT(route.replay_headers_deny, ElementsAre("x-trace"));
  EXPECT_THAT(route.replay_headers_allow, ElementsAre("set-cookie"));
  EXPECT_EQ(route.replayed_header, "X-Replayed");
  EXPECT_EQ(route.store_down, StoreDown::pass);
  EXPECT_EQ(route.status_mismatch, 409);
  EXPECT_EQ(route.status_in_progress, 423);
  EXPECT_EQ(route.errors, core::ErrorShape::flat);
  EXPECT_EQ(route.retry_after.in_progress, seconds(3));
  EXPECT_EQ(route.retry_after.unknown, minutes(5));
  EXPECT_THAT(route.cors.origins, ElementsAre("https://app.example"));
  EXPECT_THAT(route.cors.expose, ElementsAre("X-Trace"));
  EXPECT_TRUE(route.cors.credentials);
  EXPECT_EQ(route.docs_url, "https://example.com/keys");
  EXPECT_EQ(route.line, 4);
}

}  // namespace
}  // namespace semel::config::test
