// Signatures of webhook providers, on examples that the providers publish or that openssl made.
#include "auth/webhook_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace semel::auth {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

// One delivery: its parts, and the verdict on it.
struct Example {
  const WebhookScheme& scheme;
  std::vector<std::string> secrets;
  std::multimap<std::string, std::string> headers;
  std::string body;
  std::int64_t now = 1614265330;
  std::size_t piece_bytes = 7;

  // "good", or why not.
  std::string check() const {
    std::vector<WebhookSecret> parsed;
    for (const std::string& secret : secrets) {
      parsed.push_back(parse_webhook_secret(scheme, secret).value());
    }
    const auto values = [&](std::string_view name) {
      std::vector<std::string> out;
      for (const auto& [n, value] : headers) {
        if (n == name) out.push_back(value);
      }
      return out;
    };
    const auto claim = read_webhook_claim(scheme, values, minutes(5), Time(seconds(now)));
    if (!claim) return claim.error();
    const auto pieces = [&](const std::function<void(std::string_view)>& take) {
      for (std::size_t at = 0; at < body.size(); at += piece_bytes) {
        take(std::string_view(body).substr(at, piece_bytes));
      }
    };
    return is_signed(*claim, parsed, pieces) ? "good" : "bad";
  }
};

const WebhookScheme& scheme(std::string_view name) {
  return *find_webhook_scheme(name);
}

Example standard() {
  return {scheme("standard"),
          {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
          {{"webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"},
           {"webhook-timestamp", "1614265330"},
           {"webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}},
          R"({"test": 2432232314})"};
}

Example standard_asymmetric() {
  return {scheme("standard"),
          {"whpk_wKHRBfQy2JFrVJb6mDDZpNTTFpNciK8XcxG+e3QjLTM="},
          {{"webhook-id", "msg_1"},
           {"webhook-timestamp", "1614265330"},
           {"webhook-signature",
            "v1a,CKlVT6ai1CDKp1hKC7VTsyN4to3gGrKtCEamh1Zj7Ggq90w8JCY0PObJkEL4WrqxRQN6fnHFRXvZl1ZjNP"
            "E7DA=="}},
          R"({"a":1})"};
}

Example stripe() {
  return {scheme("stripe"),
          {"whsec_test_secret"},
          {{"Stripe-Signature",
            "t=1614265330,"
            "v1=e135cdbed3dda004bf8a2fb350f2541d299393c770e0b9e6e319dc595e9072aa"}},
          R"({"id":"evt_1"})"};
}

Example github() {
  return {scheme("github"),
          {"It's a Secret to Everybody"},
          {{"X-Hub-Signature-256",
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
           {"X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"}},
          "Hello, World!"};
}

Example shopify() {
  return {scheme("shopify"),
          {"shpss_0123456789"},
          {{"X-Shopify-Hmac-Sha256", "fIx2DeDAi3RwffzNWwPsAIkeJ1qkDUjwCNCeRI9DnpI="},
           {"X-Shopify-Event-Id", "e"}},
          R"({"id":1})"};
}

Example slack() {
  return {
      scheme("slack"),
      {"8f742231b10e8888abcd99yyyzzz85a5"},
      {{"X-Slack-Signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"},
       {"X-Slack-Request-Timestamp", "1531420618"}},
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id="
      "G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-"
      "collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%"
      "2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121."
      "803a0bc887a14d10d2c447fce8b6703c",
      1531420618};
}

std::vector<Example> all() {
  return {standard(), standard_asymmetric(), stripe(), github(), shopify(), slack()};
}

TEST(Webhook, EveryProvidersExampleIsGood) {
  for (Example example : all()) {
    EXPECT_EQ(example.check(), "good") << example.scheme.name;
    example.piece_bytes = 1000;
    EXPECT_EQ(example.check(), "good") << example.scheme.name;
  }
}

TEST(Webhook, EveryBitOfTheBodyCounts) {
  for (const Example& good : all()) {
    for (std::size_t at = 0; at < good.body.size(); ++at) {
      Example changed = good;
      changed.body[at] ^= 1;
      EXPECT_EQ(changed.check(), "bad") << good.scheme.name << " " << at;
    }
    Example longer = good;
    longer.body += "\n";
    EXPECT_EQ(longer.check(), "bad") << good.scheme.name;
    Example empty = good;
    empty.body.clear();
    EXPECT_EQ(empty.check(), "bad") << good.scheme.name;
  }
}

TEST(Webhook, EveryCharacterOfWhatIsSignedCounts) {
  for (const char* name : {"webhook-id", "webhook-timestamp"}) {
    Example changed = standard();
    changed.headers.find(name)->second.back() ^= 1;
    EXPECT_EQ(changed.check(), "bad") << name;
  }
}

TEST(Webhook, AnySecretOfSeveralWillDo) {
  for (Example example : all()) {
    const std::string good = example.secrets[0];
    const std::string other = example.scheme.name == "standard"
                                  ? "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                                  : "another secret";
    example.secrets = {other, good};
    EXPECT_EQ(example.check(), "good") << example.scheme.name;
    example.secrets = {other};
    EXPECT_EQ(example.check(), "bad") << example.scheme.name;
    example.secrets = {};
    EXPECT_EQ(example.check(), "bad") << example.scheme.name;
  }
}

TEST(Webhook, ATimestampHoldsForTheToleranceBothWays) {
  for (const Example& good : {standard(), standard_asymmetric(), stripe(), slack()}) {
    const auto check_at = [&](int offset_seconds) {
      Example example = good;
      example.now += offset_seconds;
      return example.check();
    };
    EXPECT_EQ(check_at(300), "good");
    EXPECT_EQ(check_at(-300), "good");
    EXPECT_EQ(check_at(301), "The timestamp is too old.");
    EXPECT_EQ(check_at(-301), "The timestamp is in the future.");
  }
}

TEST(Webhook, ATimestampThatIsNoneIsRefused) {
  for (const char* text : {"", "-1614265330", "+1614265330", "1614265330.0", "0x60", " 1614265330",
                           "16142653300000", "99999999999999999999"}) {
    Example example = standard();
    example.headers.find("webhook-timestamp")->second = text;
    EXPECT_THAT(example.check(), ::testing::StartsWith("The timestamp")) << text;
  }
}

TEST(Webhook, AHeaderThatIsMissingOrRepeatedIsNamed) {
  for (const Example& good : all()) {
    for (const auto& [name, value] : good.headers) {
      Example repeated = good;
      repeated.headers.emplace(name, value);
      EXPECT_EQ(repeated.check(), "The header " + name + " was sent more than once.");
      Example missing = good;
      missing.headers.erase(name);
      const bool is_signed = good.scheme.signs_id() || name == good.scheme.signature_header;
      if (is_signed) {
        EXPECT_EQ(missing.check(), "The header " + name + " is missing.");
      } else {
        EXPECT_EQ(missing.check(), "good");
      }
    }
  }
}

TEST(Webhook, OneGoodSignatureAmongSeveralWillDo) {
  Example example = standard();
  std::string& list = example.headers.find("webhook-signature")->second;
  const std::string good = list;
  const std::string wrong = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
  list = wrong + " " + good;
  EXPECT_EQ(example.check(), "good");
  list = good + "  v1a,abc v9,xyz";
  EXPECT_EQ(example.check(), "good");
  list = wrong + " " + wrong;
  EXPECT_EQ(example.check(), "bad");
  // Nobody has that many; what stands behind them is not looked at.
  list.clear();
  for (int i = 0; i < 8; ++i) list += wrong + " ";
  list += good;
  EXPECT_EQ(example.check(), "bad");
}

TEST(Webhook, ASignatureOfAnotherKindIsNone) {
  Example example = stripe();
  std::string& header = example.headers.find("Stripe-Signature")->second;
  const std::string good = header;
  for (const char* bad : {"t=1614265330", "v1=", "t=1614265330,v1=", "t=1614265330,v1=zz",
                          "t=1614265330,v1=e135", "t=1614265330 v1=e135"}) {
    header = bad;
    EXPECT_THAT(example.check(), HasSubstr("has no signature")) << bad;
  }
  header = "t=1614265330," + good;
  EXPECT_EQ(example.check(), "There are two timestamps.");
  header = good.substr(good.find("v1="));
  EXPECT_THAT(example.check(), HasSubstr("timestamp"));
}

TEST(Webhook, HexadecimalDigitsMayBeUpperCase) {
  Example example = github();
  std::string& header = example.headers.find("X-Hub-Signature-256")->second;
  std::ranges::transform(header.begin() + 7, header.end(), header.begin() + 7, ::toupper);
  EXPECT_EQ(example.check(), "good");
}

TEST(Webhook, AnEmptyBodyCanBeSigned) {
  Example example = github();
  example.body.clear();
  // python3: hmac.new(b"It's a Secret to Everybody", b"", sha256).hexdigest()
  example.headers.find("X-Hub-Signature-256")->second =
      "sha256=66a0c074deaa0f489ead6537e0d32f9a344b90bbeda705b6ed45ecd3b413fb40";
  EXPECT_EQ(example.check(), "good");
}

TEST(Webhook, WhoSignsTheId) {
  EXPECT_TRUE(scheme("standard").signs_id());
  EXPECT_TRUE(scheme("stripe").signs_id());
  EXPECT_TRUE(scheme("slack").signs_id());
  EXPECT_FALSE(scheme("github").signs_id());
  EXPECT_FALSE(scheme("shopify").signs_id());
}

TEST(Webhook, APlaceholderInAValueIsNotFilledIn) {
  WebhookScheme custom{.name = "custom",
                       .signature_header = "S",
                       .timestamp_header = "T",
                       .signed_content = "{id}|{timestamp}|{body}|end",
                       .id_headers = {"I"}};
  const auto values = [](std::string_view name) -> std::vector<std::string> {
    if (name == "S") return {std::string(64, '0')};
    if (name == "T") return {"1614265330"};
    return {"{timestamp}{body}"};
  };
  const auto claim =
      read_webhook_claim(custom, values, minutes(5), Time(seconds(1614265330))).value();
  EXPECT_EQ(claim.before, "{timestamp}{body}|1614265330|");
  EXPECT_EQ(claim.after, "|end");
}

constexpr const char* kIdEndsEarly = "has a character that ends the id in the signed content";

// One signature, two ways to cut what is signed into an id and a body.
TEST(Webhook, ASignedIdCannotBeShiftedIntoTheBody) {
  const WebhookScheme before{.name = "custom",
                             .signature_header = "S",
                             .signed_content = "{id}.{body}",
                             .id_headers = {"I"}};
  // python3: hmac.new(b"a-secret-of-a-partner", b"evt-7.from=a.smith", sha256).hexdigest()
  Example example = {
      before,
      {"a-secret-of-a-partner"},
      {{"S", "52dbcf51c121f8bb52017a045f40fc08bea11cb51b2aed475b53c82eba41dfe0"}, {"I", "evt-7"}},
      "from=a.smith"};
  EXPECT_EQ(example.check(), "good");
  example.headers.find("I")->second = "evt-7.from=a";
  example.body = "smith";
  EXPECT_THAT(example.check(), HasSubstr(kIdEndsEarly));
}

TEST(Webhook, ABodyCannotBeShiftedIntoASignedId) {
  const WebhookScheme after{.name = "custom",
                            .signature_header = "S",
                            .signed_content = "{body}/{id}",
                            .id_headers = {"I"}};
  // python3: hmac.new(b"a-secret-of-a-partner", b"a/b/evt-7", sha256).hexdigest()
  Example example = {
      after,
      {"a-secret-of-a-partner"},
      {{"S", "775e8a1942b5d03512971a1bbf4b81e5d491291cd48d1f69723460b7510d5a70"}, {"I", "evt-7"}},
      "a/b"};
  EXPECT_EQ(example.check(), "good");
  example.headers.find("I")->second = "b/evt-7";
  example.body = "a";
  EXPECT_THAT(example.check(), HasSubstr(kIdEndsEarly));
}

TEST(Webhook, AStandardIdHasNoDot) {
  // python3: b64encode(hmac.new(b64decode("MfKQ…"), b"msg_1.1614265330.1614265330.x", sha256)…)
  Example example = standard();
  example.headers.find("webhook-id")->second = "msg_1";
  example.headers.find("webhook-signature")->second =
      "v1,YOJeAogSUDXjJaScS5SW6vutAV9TMfj4NyfAcgRjeNw=";
  example.body = "1614265330.x";
  EXPECT_EQ(example.check(), "good");
  example.headers.find("webhook-id")->second = "msg_1.1614265330";
  example.body = "x";
  EXPECT_THAT(example.check(), HasSubstr(kIdEndsEarly));
}

TEST(Webhook, AGenuineStandardIdPasses) {
  Example example = standard();
  example.headers.find("webhook-id")->second = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";
  example.headers.find("webhook-signature")->second =
      "v1,cawCpCG8HN2T+O+v1qpPzVh4MbJZRDCTTQ6XiM7fxzA=";
  example.body = R"({"a":1})";
  EXPECT_EQ(example.check(), "good");
}

// Where the id is not signed, or stands in the body, there is nothing to shift.
TEST(Webhook, AnIdThatIsNotSignedMayHaveAnyCharacter) {
  Example example = github();
  example.headers.find("X-GitHub-Delivery")->second = "a.b/c:d";
  EXPECT_EQ(example.check(), "good");
}

TEST(Webhook, SecretsThatCannotBeUsedAreRefusedWithoutBeingShown) {
  const auto error = [](const char* provider, const std::string& text) {
    const auto secret = parse_webhook_secret(scheme(provider), text);
    return secret ? "" : secret.error();
  };
  EXPECT_THAT(error("stripe", ""), HasSubstr("empty"));
  EXPECT_EQ(error("stripe", "whsec_x"), "");
  for (const char* bad :
       {"whsec_", "whsec_!!!", "whsec_YWJj", "whpk_YWJj", "whpk_", "plain text"}) {
    EXPECT_NE(error("standard", bad), "") << bad;
  }
  EXPECT_THAT(error("standard", "whsec_YWJj"), ::testing::Not(HasSubstr("YWJj")));
  EXPECT_THAT(error("standard", "whsec_not/base64!"), ::testing::Not(HasSubstr("not/base64!")));
}

TEST(Webhook, WhatIsSignedHasTheBodyOnceAndNothingUnknown) {
  EXPECT_EQ(signed_content_error("{id}.{timestamp}.{body}"), "");
  EXPECT_EQ(signed_content_error("{body}"), "");
  for (const char* bad : {"", "{id}", "{body}{body}", "{body}{what}", "{body", "{body}}"}) {
    EXPECT_NE(signed_content_error(bad), "") << bad;
  }
}

TEST(Webhook, SomethingStandsBetweenTheIdAndItsNeighbours) {
  for (const char* bad : {"{id}{body}", "{body}{id}", "{id}{timestamp}.{body}",
                          "{timestamp}{id}.{body}", "v1.{body}.{timestamp}{id}"}) {
    EXPECT_THAT(signed_content_error(bad), HasSubstr("{id} right next to another placeholder"))
        << bad;
  }
  for (const char* good : {"{id}.{body}", "{body}/{id}", "v1{id}:{timestamp}{body}"}) {
    EXPECT_EQ(signed_content_error(good), "") << good;
  }
}

}  // namespace
}  // namespace semel::auth
