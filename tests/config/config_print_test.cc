#include <regex>
#include <set>
#include <string>

#include "config/config_print_samples.h"
#include "config/config_support.h"
#include "config/printing/print.h"
#include "config/reading/tree.h"

namespace semel::config::test {
namespace {

using reading::Node;
using reading::NodeKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view kHiddenWord = "hunter2";

Node tree_of(std::string_view yaml) {
  reading::Report report;
  const auto tree = reading::load_tree(yaml, {}, report);
  EXPECT_TRUE(tree.has_value());
  EXPECT_THAT(lines(report.errors), IsEmpty());
  return tree ? *tree : Node{};
}

std::string printed(std::string_view yaml) {
  return print_yaml(config_of(yaml));
}

// Fails for everything that the sample gives and the printed file does not repeat.
void expect_repeated(const Node& sample, const Node& printed, const std::string& path) {
  ASSERT_EQ(sample.kind, printed.kind) << path;
  if (sample.kind == NodeKind::scalar) {
    if (sample.text.contains(kHiddenWord)) {
      EXPECT_THAT(printed.text, HasSubstr("***")) << path;
    } else {
      EXPECT_EQ(sample.text, printed.text) << path;
    }
  } else if (sample.kind == NodeKind::sequence) {
    ASSERT_EQ(sample.children.size(), printed.children.size()) << path;
    for (std::size_t i = 0; i < sample.children.size(); ++i) {
      expect_repeated(sample.children[i], printed.children[i], reading::item_path(path, i));
    }
  } else {
    for (const Node& child : sample.children) {
      const std::string member = reading::member_path(path, child.name);
      const Node* found = printed.find(child.name);
      ASSERT_NE(found, nullptr) << member << " is not printed";
      expect_repeated(child, *found, member);
    }
  }
}

// Returns the path without the names and numbers of what a file may have several times.
std::string general(std::string path) {
  static const std::vector<std::pair<std::regex, std::string>> kRules = {
      {std::regex(R"(\[\d+\])"), "[]"},
      {std::regex(R"(^relay\.destinations\.\w+\.)"), "relay.to."},
      {std::regex(R"(^service\.operations\.\w+\.)"), "service.of."},
      {std::regex(R"(^store\.(cache|durable)\.)"), "store."}};
  for (const auto& [pattern, by] : kRules) path = std::regex_replace(path, pattern, by);
  return path;
}

void collect_given(const Node& node, const std::string& path, std::set<std::string>& out) {
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const bool is_list = node.kind == NodeKind::sequence;
    const std::string below =
        is_list ? reading::item_path(path, i) : reading::member_path(path, node.children[i].name);
    out.insert(general(below));
    collect_given(node.children[i], below, out);
  }
}

TEST(ConfigPrint, RepeatsEveryValueOfAFile) {
  for (const std::string_view sample : kPrintSamples) {
    expect_repeated(tree_of(sample), tree_of(printed(sample)), "");
  }
}

// A key that is read and not printed, or that no sample gives, is missing from one of the sets.
TEST(ConfigPrint, KnowsEveryKeyThatTheReaderKnows) {
  std::set<std::string> known;
  std::set<std::string> given;
  std::set<std::string> repeated;
  for (const std::string_view sample : kPrintSamples) {
    const ConfigOutcome outcome = parse_config(
        sample, "semel.yaml", {}, [&](const std::string& path) { known.insert(general(path)); });
    ASSERT_TRUE(outcome.config);
    collect_given(tree_of(sample), "", given);
    collect_given(tree_of(print_yaml(*outcome.config)), "", repeated);
  }
  std::vector<std::string> not_given;
  std::ranges::set_difference(known, given, std::back_inserter(not_given));
  std::vector<std::string> not_printed;
  std::ranges::set_difference(known, repeated, std::back_inserter(not_printed));
  // Layers of a route, which is printed as they make it.
  EXPECT_THAT(not_given, ElementsAre("defaults", "routes[].profile"));
  EXPECT_THAT(not_printed, ElementsAre("defaults", "routes[].profile"));
  EXPECT_GT(known.size(), 200u);
}

TEST(ConfigPrint, CanBeReadAgainAndPrintsTheSame) {
  for (const std::string_view sample : kReadableSamples) {
    const std::string once = printed(sample);
    EXPECT_EQ(printed(once), once);
  }
}

TEST(ConfigPrint, AddsNothingThatIsWarnedAbout) {
  for (const std::string_view sample :
       {kMessagesSample, kRedisSample, kTieredSample, kJwtSample, kIntrospectSample}) {
    EXPECT_THAT(warnings_of(printed(sample)).size(), warnings_of(sample).size());
  }
}

TEST(ConfigPrint, HidesEverySecret) {
  for (const std::string_view sample : kPrintSamples) {
    EXPECT_THAT(printed(sample), Not(HasSubstr(kHiddenWord)));
  }
  const std::string yaml = printed(kMessagesSample);
  EXPECT_THAT(yaml, HasSubstr("postgresql://semel:***@db:5432/semel?sslpassword=***"));
  EXPECT_THAT(yaml, HasSubstr("nats://***@nats"));
  EXPECT_THAT(yaml, HasSubstr("ssl.key.location: /etc/f"));
  EXPECT_THAT(printed(kGatewaySample), HasSubstr("?key={key}&token={token}&secret=***"));
}

TEST(ConfigPrint, HidesAPasswordWithCharactersOfAUrl) {
  const std::string yaml = printed(
      "store: {kind: postgres, url: 'postgresql://u:hun/ter?2@x@db/semel'}\n" + with_top(""));
  EXPECT_THAT(yaml, HasSubstr("postgresql://u:***@db/semel"));
}

TEST(ConfigPrint, FillsInDefaultsAndProfiles) {
  const std::string yaml =
      printed("defaults: {profile: stripe, ttl: 1h}\n" + with_route("key: {required: true}"));
  EXPECT_THAT(yaml, HasSubstr("mismatch: 400"));
  EXPECT_THAT(yaml, HasSubstr("ttl: 1h"));
  EXPECT_THAT(yaml, HasSubstr("hold_for: never"));
  EXPECT_THAT(yaml, HasSubstr("drain_timeout: 30s"));
  EXPECT_THAT(yaml, Not(HasSubstr("profile")));
  EXPECT_EQ(printed(yaml), yaml);
}

// Each status has the outcome that it had, on first and later attempts.
TEST(ConfigPrint, KeepsTheOutcomes) {
  for (const char* outcomes :
       {"standard", "cautious", "{final: [5xx], retry: ['503']}", "{retry: [4xx], final: ['409']}",
        "{unknown: ['423', '418']}", "{final: ['409', '423']}", "{retry: ['409']}"}) {
    const std::string members = std::string("outcomes: ") + outcomes;
    const OutcomeRules before = route_of(members).outcomes;
    const Config again = config_of(printed(with_route(members)));
    ASSERT_EQ(again.routes.size(), 1u);
    for (int status = 100; status < 600; ++status) {
      for (const std::uint32_t attempt : {1u, 2u}) {
        EXPECT_EQ(before.classify(status, attempt, ""),
                  again.routes[0].outcomes.classify(status, attempt, ""))
            << outcomes << " " << status << " " << attempt;
      }
    }
  }
}

TEST(ConfigPrint, CanBeReadAgainForEveryProfile) {
  for (const char* profile :
       {"ietf", "stripe", "adyen", "paypal", "square", "increase", "telnyx"}) {
    const std::string once = printed(with_route(std::string("profile: ") + profile));
    EXPECT_EQ(printed(once), once) << profile;
  }
}

}  // namespace
}  // namespace semel::config::test
