// When a route stops sending requests on, and when it begins again.
#include "runtime/upstreams/circuit.h"

#include <gtest/gtest.h>

namespace semel::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Circuit::Instant kBegin{std::chrono::hours(1000)};
const config::CircuitConfig kConfig{.failures = 3, .window = seconds(10), .open_for = seconds(5)};

void open(Circuit& circuit, Circuit::Instant now) {
  for (std::size_t n = 0; n < kConfig.failures; ++n) circuit.failed({}, now);
}

TEST(Circuit, OpensAfterSoManyFailuresWithinTheWindow) {
  Circuit circuit("r", kConfig);
  circuit.failed({}, kBegin);
  circuit.failed({}, kBegin + seconds(6));
  circuit.failed({}, kBegin + seconds(11));  // the first is too long ago
  EXPECT_FALSE(circuit.is_open());
  EXPECT_TRUE(circuit.enter(kBegin + seconds(11)));
  circuit.succeeded({});  // does not start the count anew
  circuit.failed({}, kBegin + seconds(16));
  EXPECT_TRUE(circuit.is_open());
  EXPECT_EQ(circuit.enter(kBegin + seconds(17)).error(), seconds(4));
  EXPECT_EQ(circuit.opened(), 1U);
  EXPECT_EQ(circuit.refused(), 1U);
}

TEST(Circuit, OneRequestAtATimeIsATrial) {
  Circuit circuit("r", kConfig);
  open(circuit, kBegin);
  EXPECT_FALSE(circuit.enter(kBegin + milliseconds(4999)));
  const auto trial = circuit.enter(kBegin + seconds(5));
  ASSERT_TRUE(trial);
  EXPECT_TRUE(trial->is_trial);
  EXPECT_EQ(circuit.enter(kBegin + seconds(6)).error(), seconds(4));
  // Those that were sent before it opened say nothing about now.
  circuit.succeeded({});
  EXPECT_TRUE(circuit.is_open());
  circuit.succeeded(*trial);
  EXPECT_FALSE(circuit.is_open());
  EXPECT_FALSE(circuit.enter(kBegin + seconds(6))->is_trial);
  // The failures from before are forgotten.
  circuit.failed({}, kBegin + seconds(6));
  circuit.failed({}, kBegin + seconds(6));
  EXPECT_FALSE(circuit.is_open());
}

TEST(Circuit, AFailedTrialKeepsItOpen) {
  Circuit circuit("r", kConfig);
  open(circuit, kBegin);
  const auto trial = circuit.enter(kBegin + seconds(5));
  ASSERT_TRUE(trial);
  circuit.failed(*trial, kBegin + seconds(9));
  EXPECT_EQ(circuit.enter(kBegin + seconds(10)).error(), seconds(4));
  EXPECT_TRUE(circuit.enter(kBegin + seconds(14)));
  EXPECT_EQ(circuit.opened(), 1U);
  // A trial that is never reported makes room for the next.
  EXPECT_FALSE(circuit.enter(kBegin + seconds(18)));
  EXPECT_TRUE(circuit.enter(kBegin + seconds(19)));
}

TEST(Circuit, ATrialThatWasNotSentIsTakenByTheNext) {
  Circuit circuit("r", kConfig);
  open(circuit, kBegin);
  const auto trial = circuit.enter(kBegin + seconds(5));
  ASSERT_TRUE(trial);
  EXPECT_FALSE(circuit.check(kBegin + seconds(5)));
  circuit.give_back(*trial, kBegin + seconds(6));
  EXPECT_TRUE(circuit.check(kBegin + seconds(6)));  // takes nothing
  EXPECT_TRUE(circuit.enter(kBegin + seconds(6))->is_trial);
  EXPECT_FALSE(circuit.enter(kBegin + seconds(6)));
}

TEST(Circuit, WhatWasSentBeforeItOpenedSaysNothingAfterItClosed) {
  Circuit circuit("r", kConfig);
  const auto old = circuit.enter(kBegin);
  open(circuit, kBegin);
  const auto trial = circuit.enter(kBegin + seconds(5));
  circuit.succeeded(*trial);
  for (std::size_t n = 0; n < kConfig.failures; ++n) circuit.failed(*old, kBegin + seconds(6));
  EXPECT_FALSE(circuit.is_open());
  const auto now = circuit.enter(kBegin + seconds(6));
  for (std::size_t n = 0; n < kConfig.failures; ++n) circuit.failed(*now, kBegin + seconds(6));
  EXPECT_TRUE(circuit.is_open());
  circuit.succeeded(*trial);  // that of the opening before
  EXPECT_TRUE(circuit.is_open());
}

TEST(Circuit, OneFailureMayBeEnough) {
  Circuit circuit("r", {.failures = 1, .window = seconds(1), .open_for = seconds(1)});
  circuit.failed({}, kBegin);
  EXPECT_TRUE(circuit.is_open());
}

TEST(Circuit, ARouteKeepsItsCircuitWhileItsRulesStayTheSame) {
  std::vector<config::RouteConfig> routes(4);
  routes[0].name = "kept";
  routes[1].name = "changed";
  routes[2].name = "observed";
  routes[2].mode = config::Mode::observe;
  routes[3].name = "none";
  for (std::size_t i = 0; i < 3; ++i) routes[i].circuit = kConfig;
  const auto before = make_circuits(routes, {}, {});
  EXPECT_TRUE(before[0] && before[1]);
  EXPECT_FALSE(before[2] || before[3]);
  std::vector<config::RouteConfig> wanted = {routes[1], routes[0]};
  wanted[0].circuit->failures = 4;
  const auto after = make_circuits(wanted, routes, before);
  EXPECT_NE(after[0], before[1]);
  EXPECT_EQ(after[1], before[0]);
}

}  // namespace
}  // namespace semel::runtime
