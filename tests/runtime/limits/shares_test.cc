// One caller cannot use up what all share, and what is given back is there again.
#include "runtime/limits/shares.h"

#include <gtest/gtest.h>

#include "runtime/limits/descriptors.h"

namespace semel::runtime {
namespace {

using boost::asio::ip::make_address;

TEST(Shares, TheLastQuarterIsForThoseWhoHoldLessThanAQuarter) {
  EXPECT_TRUE(has_share(11, 11, 16));
  EXPECT_FALSE(has_share(12, 12, 16));
  EXPECT_TRUE(has_share(0, 12, 16));
  EXPECT_TRUE(has_share(3, 15, 16));
  EXPECT_FALSE(has_share(4, 15, 16));
  EXPECT_FALSE(has_share(0, 16, 16));
}

TEST(Shares, OfAFewPlacesOneMayTakeAll) {
  EXPECT_TRUE(has_share(6, 6, 7));
  EXPECT_FALSE(has_share(7, 7, 7));
}

TEST(Shares, APeerIsItsAddressAndOfIPv6ItsNetwork) {
  ShareHolders holders;
  const ShareHolderPtr one = holders.of_peer(make_address("192.0.2.1"));
  EXPECT_EQ(holders.of_peer(make_address("192.0.2.1")), one);
  EXPECT_EQ(holders.of_peer(make_address("::ffff:192.0.2.1")), one);
  EXPECT_NE(holders.of_peer(make_address("192.0.2.2")), one);
  const ShareHolderPtr six = holders.of_peer(make_address("2001:db8:1:2::1"));
  EXPECT_EQ(holders.of_peer(make_address("2001:db8:1:2:ffff::9")), six);
  EXPECT_NE(holders.of_peer(make_address("2001:db8:1:3::1")), six);
  EXPECT_NE(holders.of_tenant("a"), holders.of_operation("a"));
}

TEST(Shares, WhoHoldsNothingIsForgotten) {
  ShareHolders holders;
  ShareHolderPtr tenant = holders.of_tenant("a");
  tenant->queued = 5;
  EXPECT_EQ(holders.of_tenant("a")->queued, 5);
  tenant.reset();
  EXPECT_EQ(holders.of_tenant("a")->queued, 0);
}

TEST(HeldBytes, OneTenantsBodiesLeaveRoomForAnothers) {
  constexpr std::size_t kLimit = 1000;
  ShareHolders holders;
  std::atomic<std::size_t> all = 0;
  HeldBytes greedy(all, nullptr);
  greedy.belong_to(holders.of_tenant("greedy"));
  EXPECT_TRUE(greedy.recount(700, kLimit));
  EXPECT_TRUE(greedy.recount(800, kLimit));
  EXPECT_FALSE(greedy.recount(850, kLimit));
  HeldBytes more(all, nullptr);
  more.belong_to(holders.of_tenant("greedy"));
  EXPECT_FALSE(more.recount(1, kLimit));
  HeldBytes others(all, nullptr);
  others.belong_to(holders.of_tenant("modest"));
  EXPECT_TRUE(others.recount(100, kLimit));
  EXPECT_EQ(all, 951);
}

TEST(HeldBytes, APeerWithManyNamesIsOnePeer) {
  constexpr std::size_t kLimit = 1000;
  ShareHolders holders;
  std::atomic<std::size_t> all = 0;
  const ShareHolderPtr peer = holders.of_peer(make_address("192.0.2.1"));
  std::vector<std::unique_ptr<HeldBytes>> bodies;
  bool fits = true;
  for (int i = 0; i < 10; ++i) {
    bodies.push_back(std::make_unique<HeldBytes>(all, peer.get()));
    bodies.back()->belong_to(holders.of_tenant(std::to_string(i)));
    fits = bodies.back()->recount(100, kLimit);
  }
  EXPECT_FALSE(fits);
  bodies.clear();
  EXPECT_EQ(all, 0);
  EXPECT_EQ(peer->held_bytes, 0);
}

TEST(Descriptors, LimitsThatFitStayAndOthersAreCutInProportion) {
  config::LimitsConfig limits;
  const std::size_t needed = descriptors_needed(limits);
  EXPECT_TRUE(fit_limits(limits, needed));
  EXPECT_EQ(limits.connections, config::LimitsConfig{}.connections);
  EXPECT_TRUE(fit_limits(limits, needed / 2));
  EXPECT_LE(descriptors_needed(limits), needed / 2);
  EXPECT_NEAR(static_cast<double>(limits.connections) / static_cast<double>(limits.in_flight),
              10'000.0 / 4096, 0.01);
  EXPECT_FALSE(fit_limits(limits, 840));
}

}  // namespace
}  // namespace semel::runtime
