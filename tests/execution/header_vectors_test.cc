// The table of headers that are kept, against the lists of C++.
// tests/e2e/postgres/test_vectors.py runs it against the list of SQL.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "execution/headers.h"
#include "http/fields/never_kept.h"
#include "support/vectors.h"

namespace semel::execution {
namespace {

std::vector<std::string> names_of(const char* list) {
  std::vector<std::string> names;
  const boost::json::value table = support::read_vectors("headers.json");
  for (const auto& name : table.at(list).as_array()) names.push_back(support::text_of(name));
  EXPECT_FALSE(names.empty());
  return names;
}

std::vector<std::string> spellings(const std::string& name) {
  std::string lower = name;
  std::ranges::transform(name, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string upper = name;
  std::ranges::transform(name, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return {name, lower, upper};
}

// The way of a header from the upstream's answer into the record.
bool comes_into_record(std::string_view name, const config::RouteConfig& route = {}) {
  return !HopByHop::is_always(name) && !is_ours(name, route, true) && is_kept(name, route);
}

TEST(HeaderVectors, WhatIsNotToBeKeptIsNot) {
  for (const char* list : {"connection", "ours", "moment", "credentials"}) {
    for (const std::string& name : names_of(list)) {
      for (const std::string& spelled : spellings(name)) {
        EXPECT_FALSE(comes_into_record(spelled)) << spelled;
      }
    }
  }
  for (const std::string& prefix : names_of("prefixes")) {
    for (const std::string& spelled : spellings(prefix + "Limit")) {
      EXPECT_FALSE(comes_into_record(spelled)) << spelled;
    }
    EXPECT_FALSE(comes_into_record(prefix)) << prefix;
  }
}

TEST(HeaderVectors, WhatOnlyLooksLikeItIsKept) {
  for (const std::string& name : names_of("kept")) {
    for (const std::string& spelled : spellings(name)) {
      EXPECT_TRUE(comes_into_record(spelled)) << spelled;
    }
  }
}

TEST(HeaderVectors, ARouteMayAllowWhatBelongsToTheMomentAndNoCredentials) {
  for (const std::string& name : names_of("moment")) {
    config::RouteConfig route;
    route.replay_headers_allow = {name};
    EXPECT_TRUE(is_kept(name, route)) << name;
  }
  for (const std::string& name : names_of("credentials")) {
    config::RouteConfig route;
    route.replay_headers_allow = {name};
    EXPECT_FALSE(is_kept(name, route)) << name;
    EXPECT_TRUE(http::is_never_kept(name)) << name;
  }
}

}  // namespace
}  // namespace semel::execution
