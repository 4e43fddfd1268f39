#include "config/config.h"

#include "config/config_support.h"
#include "config/parse.h"

namespace semel::config::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ConfigYaml, ExpandsVariablesInValues) {
  const Environment environment = {{"WORKERS", "3"}, {"EMPTY", ""}, {"DIR", "/data"}};
  const auto path = [&](const std::string& text) {
    return config_of(with_top("store: {path: \"" + text + "\"}"), environment).store.path;
  };
  EXPECT_EQ(config_of(with_top("workers: ${WORKERS}"), environment).workers, 3u);
  EXPECT_EQ(path("${DIR}/a-${WORKERS}"), "/data/a-3");
  EXPECT_EQ(path("${UNSET:-/tmp:-x}"), "/tmp:-x");
  EXPECT_EQ(path("${EMPTY:-/tmp}"), "/tmp");
  EXPECT_EQ(path("x${EMPTY}${UNSET:-}"), "x");
  EXPECT_EQ(path("$${DIR}$$"), "${DIR}$");
  EXPECT_EQ(config_of(with_top("trusted_proxies: ['${UNSET:-10.0.0.1}']")).trusted_proxies[0].text,
            "10.0.0.1");
}

TEST(ConfigYaml, AVariableCannotAddStructure) {
  const Environment environment = {{"LEVEL", "debug, keys: full"}, {"AGAIN", "${LEVEL}"}};
  EXPECT_THAT(errors_of(with_top("log: {level: '${LEVEL}'}"), environment),
              ElementsAre(HasSubstr("log.level: '${LEVEL}' is not allowed here")));
  EXPECT_EQ(config_of(with_top("store: {path: '${AGAIN}'}"), environment).store.path, "${LEVEL}");
}

TEST(ConfigYaml, NeverShowsWhatAVariableHeld) {
  EXPECT_THAT(errors_of(with_top("workers: ${SECRET}"), {{"SECRET", "hunter2"}}),
              ElementsAre("semel.yaml:1: workers: '${SECRET}' is not a whole number"));
}

TEST(ConfigYaml, RefusesBadVariables) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"${NOPE}", "needs the environment variable NOPE, which is not set"},
      {"${NOPE", "has a '${' without its '}'"},
      {"${}", "has a '${' without a variable name"},
      {"${1A}", "has a '${' without a variable name"},
      {"${A-b}", "has a '${' without a variable name"},
      {"${A:-${B}}", "has a variable inside the default of another"},
      {"$HOME", "has a lone '$'"},
      {"5$", "has a lone '$'"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_THAT(errors_of(with_top("store:\n  path: '" + text + "'")),
                ElementsAre(AllOf(StartsWith("semel.yaml:2: store.path: '"), HasSubstr(expected))))
        << text;
  }
}

TEST(ConfigYaml, ReportsYamlThatDoesNotParse) {
  EXPECT_THAT(errors_of("listen: 127.0.0.1:80\nlog: {level: info\nworkers: 1\n"),
              ElementsAre(AllOf(StartsWith("semel.yaml:"), HasSubstr("not valid YAML: "))));
  EXPECT_THAT(errors_of("a: b\n\tc: d\n"), ElementsAre(StartsWith("semel.yaml:2: not valid YAML")));
  EXPECT_THAT(errors_of("a: \"\\\x1b\"\n"),
              ElementsAre("semel.yaml:1: not valid YAML: unknown escape character: ?"));
  EXPECT_THAT(errors_of("a: *nobody\n"), ElementsAre(StartsWith("semel.yaml:1: not valid YAML")));
  EXPECT_THAT(errors_of("a: 1\n---\nb: 2\n"),
              ElementsAre(StartsWith("semel.yaml:2: text after the end of the document")));
  EXPECT_THAT(errors_of("? [a]\n: b\n"), ElementsAre(HasSubstr("a key must be a plain word")));
}

TEST(ConfigYaml, UnderstandsAliases) {
  const Config config = config_of(R"(
tenant: {from: none}
routes:
  - &first {path: /a, upstream: http://up, key: &key {min_length: 9}}
  - {path: /b, upstream: http://up, key: *key}
)");
  EXPECT_EQ(config.routes.at(1).key.rules.min_length, 9u);
}

std::string repeat(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST(ConfigYaml, RefusesHostileFilesQuickly) {
  EXPECT_THAT(errors_of(std::string((1 << 20) + 1, '#')),
              ElementsAre("semel.yaml: the file is larger than 1MiB"));
  const std::string as_large_as_allowed = std::string((1 << 20) - 200, '#') + "\n" + with_top("");
  config_of(as_large_as_allowed);
  for (const char* opening : {"[", "{", "{a: ", "[a: ", "- ", "? ", "'a': {"}) {
    EXPECT_THAT(errors_of(repeat(opening, 100'000)),
                ElementsAre(HasSubstr("nested deeper than 16 levels")))
        << opening;
  }
  EXPECT_THAT(errors_of(repeat("- a\n", 60'000)),
              ElementsAre("semel.yaml:50001: too many values, counting each use of an alias"));
  EXPECT_THAT(errors_of("a: &a [*a]"), ElementsAre(HasSubstr("an alias is used inside the value")));
}

TEST(ConfigYaml, RefusesAliasBombs) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1) + ", ";
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeat(below, 10) + "]\n";
  }
  EXPECT_THAT(errors_of(bomb), ElementsAre(HasSubstr("counting each use of an alias")));
  const std::string wide = "a: &a " + std::string(100'000, 'x') + "\nb: [" + repeat("*a, ", 100);
  EXPECT_THAT(errors_of(wide + "]"), ElementsAre(HasSubstr("counting each use of an alias")));
}

TEST(ConfigYaml, BoundsWhatVariablesExpandTo) {
  EXPECT_THAT(errors_of(with_top("store: {path: '" + repeat("${X}", 1000) + "'}"),
                        {{"X", std::string(1000, 'x')}}),
              ElementsAre(HasSubstr("is longer than 4096 characters")));
}

TEST(ConfigYaml, BoundsListsAndShortensWhatItQuotes) {
  EXPECT_THAT(errors_of(with_top("trusted_proxies: [" + repeat("10.0.0.1, ", 257) + "]")),
              ElementsAre(HasSubstr("trusted_proxies: has more than 256 entries")));
  EXPECT_THAT(errors_of(with_top("workers: \"\\e[2J" + std::string(100, 'x') + "\"")),
              ElementsAre(HasSubstr("'?[2J" + std::string(60, 'x') + "…' is not")));
  EXPECT_THAT(errors_of(with_top("\"a\\nb" + std::string(100, 'x') + "\": 1")),
              ElementsAre(HasSubstr(": a?b" + std::string(61, 'x') + "…: unknown key")));
}

}  // namespace
}  // namespace semel::config::test
