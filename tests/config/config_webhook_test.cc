#include <chrono>

#include "config/config_support.h"

namespace semel::config::test {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kSecret = "a-secret-that-nobody-may-see";

std::string webhook(const std::string& members, const std::string& route = "") {
  return with_route("webhook: {secrets: [" + std::string(kSecret) + "], " + members + "}" +
                    (route.empty() ? "" : ", " + route));
}
RouteConfig webhook_route(const std::string& members, const std::string& route = "") {
  const Config config = config_of(webhook(members, route));
  return config.routes.empty() ? RouteConfig{} : config.routes[0];
}

TEST(ConfigWebhook, FillsInEveryDefault) {
  const RouteConfig route = webhook_route("provider: stripe");
  ASSERT_TRUE(route.webhook);
  EXPECT_EQ(route.webhook->scheme.name, "stripe");
  EXPECT_EQ(route.webhook->secrets.size(), 1u);
  EXPECT_EQ(route.webhook->secrets[0].bytes, kSecret);
  EXPECT_EQ(route.webhook->tolerance, minutes(5));
  EXPECT_EQ(route.webhook->mode, WebhookMode::direct);
  EXPECT_EQ(route.webhook->max_attempts, 20u);
  EXPECT_EQ(route.webhook->backoff_min, seconds(5));
  EXPECT_EQ(route.webhook->backoff_max, hours(1));
  EXPECT_THAT(route.methods, ElementsAre("POST"));
  EXPECT_EQ(route.in_progress, InProgress::wait);
  EXPECT_EQ(route.operation.ttl, days(7));
  EXPECT_EQ(route.fingerprint.body, BodyFingerprint::none);
  EXPECT_FALSE(route.fingerprint.query);
}

TEST(ConfigWebhook, ReadsEveryKey) {
  const RouteConfig route = webhook_route(
      "provider: slack, tolerance: 1m, mode: queue, max_attempts: 3, backoff: {min: "
      "1s, max: 2s}",
      "unknown: retry, in_progress: conflict, ttl: 3d");
  EXPECT_EQ(route.webhook->tolerance, minutes(1));
  EXPECT_EQ(route.webhook->mode, WebhookMode::queue);
  EXPECT_EQ(route.webhook->max_attempts, 3u);
  EXPECT_EQ(route.webhook->backoff_min, seconds(1));
  EXPECT_EQ(route.webhook->backoff_max, seconds(2));
  EXPECT_EQ(route.in_progress, InProgress::conflict);
  EXPECT_EQ(route.operation.ttl, days(3));
  EXPECT_THAT(
      webhook_route("provider: shopify, kinds: [orders/create, orders/paid]").webhook->kinds,
      ElementsAre("orders/create", "orders/paid"));
  EXPECT_EQ(route.max_request_body, 1u << 20);  // it is kept in the record
}

TEST(ConfigWebhook, NeedsNoTenant) {
  EXPECT_THAT(errors_of("routes: [{path: /h, upstream: http://up, webhook: {provider: github, "
                        "secrets: [a-secret-of-github]}}]"),
              IsEmpty());
}

TEST(ConfigWebhook, ReadsACustomScheme) {
  const RouteConfig route = webhook_route(
      "provider: custom, signature_header: X-Sig, algorithm: hmac-sha256, encoding: "
      "base64, prefix: 'v1=', timestamp_header: X-Time, signed: "
      "'{timestamp}:{id}:{body}', id_header: X-Id");
  const auth::WebhookScheme& scheme = route.webhook->scheme;
  EXPECT_EQ(scheme.signature_header, "X-Sig");
  EXPECT_EQ(scheme.encoding, auth::SignatureEncoding::base64);
  EXPECT_EQ(scheme.hmac_prefix, "v1=");
  EXPECT_EQ(scheme.timestamp_header, "X-Time");
  EXPECT_EQ(scheme.signed_content, "{timestamp}:{id}:{body}");
  EXPECT_THAT(scheme.id_headers, ElementsAre("X-Id"));
  EXPECT_TRUE(scheme.signs_id());
  const RouteConfig plain =
      webhook_route("provider: custom, signature_header: X-Sig, id_header: X-Id");
  EXPECT_EQ(plain.webhook->scheme.signed_content, "{body}");
  EXPECT_FALSE(plain.webhook->scheme.signs_id());
  const RouteConfig timed = webhook_route(
      "provider: custom, signature_header: X-Sig, id_pointer: /id, timestamp_header: X-Time");
  EXPECT_EQ(timed.webhook->scheme.signed_content, "{timestamp}.{body}");
  EXPECT_EQ(timed.key.pointer, "/id");
  EXPECT_TRUE(timed.webhook->scheme.signs_id());
}

TEST(ConfigWebhook, RefusesWhatIsWrongWithItsLine) {
  const std::string custom = "provider: custom, signature_header: S, ";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {webhook("provider: strip"), "routes[0].webhook.provider: 'strip' is not allowed here"},
      {webhook("tolerance: 1m"), "routes[0].webhook.provider: required"},
      {webhook("provider: stripe, tolerance: 0s"), "routes[0].webhook.tolerance: "},
      {webhook("provider: stripe, tolerance: 2d"), "routes[0].webhook.tolerance: "},
      {webhook("provider: stripe, mode: later"), "routes[0].webhook.mode: "},
      {webhook("provider: stripe, secret: x"), "routes[0].webhook.secret: unknown key; did you"},
      {webhook("provider: stripe, kinds: [a]"),
       "routes[0].webhook.kinds: allowed only with provider"},
      {webhook("provider: shopify, kinds: [\"\"]"), "routes[0].webhook.kinds[0]: "},
      {webhook("provider: stripe, max_attempts: 0"), "routes[0].webhook.max_attempts: "},
      {webhook("provider: stripe, backoff: {min: 2h}"), "routes[0].webhook.backoff: min is 2h"},
      {webhook("provider: stripe, id_header: X"),
       "webhook.id_header: allowed only with provider: custom"},
      {webhook("provider: stripe, algorithm: hmac-sha256"), "only with provider: custom"},
      {webhook("provider: custom, id_header: X"), "webhook.signature_header: required"},
      {webhook("provider: custom, signature_header: S"), "either id_header or id_pointer"},
      {webhook(custom + "id_header: X, id_pointer: /id"), "either id_header or id_pointer"},
      {webhook(custom + "id_pointer: id"), "webhook.id_pointer: 'id' is not a JSON Pointer"},
      {webhook(custom + "id_header: X, algorithm: md5"), "routes[0].webhook.algorithm: "},
      {webhook(custom + "id_header: X, encoding: hex64"), "routes[0].webhook.encoding: "},
      {webhook(custom + "id_header: X, signed: '{id}'"), "must contain {body}"},
      {webhook(custom + "id_header: X, signed: '{body}{x}'"), "no other braces"},
      {webhook(custom + "id_header: X, signed: '{timestamp}{body}'"), "timestamp_header"},
      {webhook(custom + "id_header: X, timestamp_header: T, signed: '{body}'"), "proves nothing"},
      {webhook(custom + "id_pointer: /id, signed: '{id}.{body}'"), "so id_header is required"},
      {webhook(custom + "id_header: X, signed: '{id}{body}'"), "like {id}.{body}"},
      {webhook(custom + "id_header: X, signed: '{body}{id}'"), "right next to another placeholder"},
      {with_route("webhook: {provider: stripe}"), "routes[0].webhook.secrets: required"},
      {with_route("webhook: {provider: stripe, secrets: []}"), "at least one secret"},
      {with_route("webhook: {provider: stripe, secrets: ['']}"), "secrets[0]: is empty"},
      {with_route("webhook: stripe"), "routes[0].webhook: must be a mapping"},
      {webhook("provider: stripe", "key: {required: true}"),
       "routes[0].key: not allowed with webhook"},
      {webhook("provider: stripe", "methods: [POST]"),
       "routes[0].methods: not allowed with webhook"},
      {webhook("provider: stripe", "profile: stripe"),
       "routes[0].profile: not allowed with webhook"},
      {webhook("provider: stripe", "scope: tenant"), "routes[0].scope: not allowed with webhook"},
      {webhook("provider: stripe", "fingerprint: {body: raw}"),
       "routes[0].fingerprint: not allowed with"},
      {webhook("provider: stripe", "reauthorize: 'http://a/'"),
       "routes[0].reauthorize: not allowed with"},
      {webhook("provider: stripe", "mode: observe"), "routes[0].mode: observe lets"},
      {webhook("provider: stripe", "in_progress: accept"),
       "routes[0].in_progress: accept is not allowed"},
      {webhook("provider: stripe, mode: queue"), "routes[0].unknown: required with webhook mode"},
      {webhook("provider: stripe, mode: queue", "unknown: fail"), "routes[0].unknown: fail"},
      {webhook("provider: stripe, mode: queue", "unknown: hold, max_request_body: 2MiB"),
       "at most 1MiB"},
  };
  for (const auto& [yaml, expected] : cases) {
    const auto errors = errors_of(yaml);
    EXPECT_THAT(errors, ElementsAre(AllOf(HasSubstr("semel.yaml:3: "), HasSubstr(expected))))
        << yaml;
    EXPECT_THAT(errors, Each(Not(HasSubstr(kSecret)))) << yaml;
  }
}

TEST(ConfigWebhook, NeverShowsASecret) {
  const Environment environment = {{"HOOK", "whsec_not/base64/secret!"}};
  for (const char* secrets : {"['whsec_not/base64/secret!']", "['${HOOK}']",
                              "[whsec_c2hvcnRzZWNyZXQ=]", "[whpk_c2hvcnRzZWNyZXQ=]"}) {
    const auto errors = errors_of(
        with_route("webhook: {provider: standard, secrets: " + std::string(secrets) + "}"),
        environment);
    EXPECT_THAT(errors, ElementsAre(AllOf(HasSubstr("webhook.secrets[0]: is "),
                                          Not(HasSubstr("secret!")), Not(HasSubstr("c2hvcn")))))
        << secrets;
  }
}

TEST(ConfigWebhook, ReadsSecretsFromTheEnvironment) {
  const Config config =
      config_of(with_route("webhook: {provider: stripe, secrets: ['${NEW}', '${OLD}']}"),
                {{"NEW", "the new one, quite long"}, {"OLD", "the old one, quite long"}});
  ASSERT_EQ(config.routes.at(0).webhook->secrets.size(), 2u);
  EXPECT_EQ(config.routes[0].webhook->secrets[1].bytes, "the old one, quite long");
  EXPECT_THAT(errors_of(with_route("webhook: {provider: stripe, secrets: ['${NOT_SET}']}")),
              ElementsAre(HasSubstr("NOT_SET")));
}

TEST(ConfigWebhook, WarnsAboutATtlThatTheProviderOutlives) {
  EXPECT_THAT(warnings_of(webhook("provider: stripe", "ttl: 24h")),
              ElementsAre(AllOf(HasSubstr("routes[0].ttl: is 1d"), HasSubstr("for 3d"))));
  EXPECT_THAT(warnings_of(webhook("provider: stripe", "ttl: 3d")), IsEmpty());
  EXPECT_THAT(warnings_of(webhook("provider: shopify", "ttl: 47h")), Contains(HasSubstr("ttl")));
  EXPECT_THAT(warnings_of(webhook("provider: slack", "ttl: 1h")), Contains(HasSubstr("ttl")));
  EXPECT_THAT(warnings_of(webhook("provider: github", "ttl: 1d")), Contains(HasSubstr("ttl")));
  EXPECT_THAT(
      warnings_of(with_route(
          "webhook: {provider: standard, secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]}, ttl: "
          "74h")),
      Contains(HasSubstr("ttl")));
  EXPECT_THAT(warnings_of(webhook("provider: stripe")), IsEmpty());
}

TEST(ConfigWebhook, WarnsAboutWhatHasNoEffect) {
  EXPECT_THAT(warnings_of(webhook("provider: github, tolerance: 1m")),
              ElementsAre(HasSubstr("tolerance: has no effect")));
  EXPECT_THAT(warnings_of(webhook("provider: stripe, max_attempts: 3")),
              ElementsAre(HasSubstr("max_attempts: has no effect")));
  EXPECT_THAT(warnings_of(with_route("webhook: {provider: github, secrets: [short]}")),
              ElementsAre(AllOf(HasSubstr("secrets[0]: is short"), Not(HasSubstr("'short'")))));
}

TEST(ConfigWebhook, WhatOnlyTheDefaultsSayGivesWay) {
  const RouteConfig route = route_over(
      "key: {required: true, header: X-Key}, methods: [PUT], scope: tenant, mode: observe, "
      "fingerprint: {body: raw}, in_progress: accept, profile: stripe, ttl: 4d, unknown: hold",
      "webhook: {provider: stripe, secrets: [a-secret-of-stripe], mode: queue}");
  EXPECT_THAT(route.methods, ElementsAre("POST"));
  EXPECT_EQ(route.key.header, "Idempotency-Key");
  EXPECT_EQ(route.scope, ScopeKind::operation);
  EXPECT_EQ(route.mode, Mode::enforce);
  EXPECT_EQ(route.fingerprint.body, BodyFingerprint::none);
  EXPECT_EQ(route.in_progress, InProgress::wait);
  EXPECT_EQ(route.operation.ttl, days(4));
  EXPECT_EQ(kind_of(route, 500), kind_of(webhook_route("provider: stripe"), 500));
  EXPECT_NE(kind_of(route, 500), OutcomeKind::final) << "the event would not be delivered again";
  EXPECT_THAT(
      errors_of("defaults: {webhook: {provider: stripe, secrets: [x]}}\n" + with_route("ttl: 1h")),
      ElementsAre(HasSubstr("defaults.webhook: belongs to a route")));
}

}  // namespace
}  // namespace semel::config::test
