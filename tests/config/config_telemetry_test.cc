#include <gtest/gtest.h>

#include "config/config_support.h"

namespace semel::config::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kNotifySecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

TEST(ConfigTracing, AppendsThePathOfTracesToTheUrlOfACollector) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"http://127.0.0.1:4318", "/v1/traces"},
      {"http://127.0.0.1:4318/", "/v1/traces"},
      {"https://otlp.example.com/mine", "/mine/v1/traces"},
      {"https://otlp.example.com/mine/v1/traces", "/mine/v1/traces"},
  };
  for (const auto& [url, target] : cases) {
    const Config config = config_of(with_top("tracing: {otlp: '" + url + "'}"));
    EXPECT_EQ(config.tracing->otlp.target, target) << url;
    EXPECT_EQ(config.tracing->sample, 0.1);
  }
  EXPECT_FALSE(config_of(with_top("")).tracing);
}

TEST(ConfigTracing, ReportsWhatCannotBeUsed) {
  const auto error = [](const std::string& tracing) { return errors_of(with_top(tracing)); };
  EXPECT_EQ(config_of(with_top("tracing: {otlp: http://a, sample: 1}")).tracing->sample, 1);
  EXPECT_EQ(config_of(with_top("tracing: {otlp: http://a, sample: 0}")).tracing->sample, 0);
  for (const char* share : {"1.5", "-0.1", "10%", "nan", "''"}) {
    EXPECT_THAT(error("tracing: {otlp: http://a, sample: " + std::string(share) + "}"),
                ElementsAre(HasSubstr("tracing.sample: ")))
        << share;
  }
  EXPECT_THAT(error("tracing: {sample: 1}"), ElementsAre(HasSubstr("tracing.otlp: required")));
  EXPECT_THAT(error("tracing: {otlp: 'grpc://a'}"), ElementsAre(HasSubstr("tracing.otlp: ")));
  EXPECT_THAT(error("tracing: {otlp: 'http://a/?b=c'}"), ElementsAre(HasSubstr("has a query")));
  EXPECT_THAT(error("tracing: on"), ElementsAre(HasSubstr("tracing: ")));
}

TEST(ConfigNotify, TakesTheSecretsOfStandardWebhooks) {
  const std::string yaml = with_top("notify: {url: https://a/b, secret: '${SECRET}'}");
  const Config config = config_of(yaml, {{"SECRET", kNotifySecret}});
  EXPECT_EQ(config.notify->url.target, "/b");
  EXPECT_EQ(config.notify->secret.size(), 24U);
  const Config bare = config_of(yaml, {{"SECRET", std::string(kNotifySecret).substr(6)}});
  EXPECT_EQ(bare.notify, config.notify);
}

TEST(ConfigNotify, NeverShowsASecretThatCannotBeUsed) {
  const std::string yaml = with_top("notify: {url: https://a/b, secret: '${SECRET}'}");
  for (const char* secret : {"whsec_c2hvcnQ=", "hidden, not base64", "whsec_hidden!",
                             "whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="}) {
    EXPECT_THAT(errors_of(yaml, {{"SECRET", secret}}),
                ElementsAre(AllOf(HasSubstr("notify.secret: "), Not(HasSubstr(secret)))));
  }
  EXPECT_THAT(errors_of(with_top("notify: {}")),
              ElementsAre(HasSubstr("notify.secret: required"), HasSubstr("notify.url: required")));
}

}  // namespace
}  // namespace semel::config::test
