#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/error.h"
#include "config/parse.h"

namespace semel::config::test {

inline ConfigOutcome parse(std::string_view yaml, const Environment& environment = {}) {
  return parse_config(yaml, "semel.yaml", environment);
}

inline std::vector<std::string> lines(const std::vector<ConfigError>& errors) {
  std::vector<std::string> out;
  for (const ConfigError& error : errors) out.push_back(to_string(error));
  return out;
}

inline std::vector<std::string> errors_of(std::string_view yaml,
                                          const Environment& environment = {}) {
  const ConfigOutcome outcome = parse(yaml, environment);
  EXPECT_EQ(outcome.config.has_value(), outcome.errors.empty());
  return lines(outcome.errors);
}

inline std::vector<std::string> warnings_of(std::string_view yaml) {
  const ConfigOutcome outcome = parse(yaml);
  EXPECT_THAT(lines(outcome.errors), testing::IsEmpty());
  return lines(outcome.warnings);
}

inline Config config_of(std::string_view yaml, const Environment& environment = {}) {
  const ConfigOutcome outcome = parse(yaml, environment);
  EXPECT_THAT(lines(outcome.errors), testing::IsEmpty());
  return outcome.config.value_or(Config{});
}

// A file that is complete but for these lines, which come first.
inline std::string with_top(std::string_view top) {
  std::string yaml(top);
  if (!yaml.contains("tenant:")) yaml += "\ntenant: {from: none}";
  return yaml + "\nroutes: [{path: /*, upstream: http://up}]\n";
}

// A file with one route, which has these members: "ttl: 1h, unknown: retry".
inline std::string with_route(std::string_view members) {
  return "tenant: {from: none}\nroutes:\n- {path: /*, upstream: http://up, " +
         std::string(members) + "}\n";
}

// A file with a plain route for each path.
inline std::string with_paths(const std::vector<std::string>& paths) {
  std::string yaml = "tenant: {from: none}\nroutes:\n";
  for (const std::string& path : paths) yaml += "- {path: '" + path + "', upstream: http://up}\n";
  return yaml;
}

inline RouteConfig route_of(const std::string& members) {
  const Config config = config_of(with_route(members));
  return config.routes.empty() ? RouteConfig{} : config.routes[0];
}

// The one route of a file with these defaults.
inline RouteConfig route_over(const std::string& defaults, const std::string& members) {
  const Config config = config_of("defaults: {" + defaults + "}\n" + with_route(members));
  return config.routes.empty() ? RouteConfig{} : config.routes[0];
}

inline OutcomeKind kind_of(const RouteConfig& route, int status) {
  return route.outcomes.classify(status, 1, "");
}

}  // namespace semel::config::test
