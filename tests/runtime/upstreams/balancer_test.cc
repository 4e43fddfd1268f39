// Which upstream gets the next request.
#include "runtime/upstreams/balancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace semel::runtime {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

class BalancerTest : public testing::Test {
 protected:
  static constexpr Endpoint::Instant kNow{std::chrono::hours(1000)};

  Endpoint& endpoint(std::size_t index) { return *pools_[index]->endpoint; }
  void eject(std::size_t index) {
    const config::BalanceConfig rules{.fail_after = 1, .eject_for = seconds(10)};
    endpoint(index).failed(kNow, rules);
  }
  // The index of the chosen one; -1: none.
  int choose(const std::vector<std::shared_ptr<EndpointPool>>& tried = {},
             Endpoint::Instant now = kNow) {
    const UpstreamTarget* chosen = balancer_.choose(tried, rules_, now, seconds(2));
    return chosen ? static_cast<int>(chosen->upstream) : -1;
  }
  std::vector<int> counts(int requests, Endpoint::Instant now = kNow) {
    std::vector<int> found(pools_.size());
    for (int n = 0; n < requests; ++n) ++found[static_cast<std::size_t>(choose({}, now))];
    return found;
  }

  boost::asio::io_context context_;
  http::Deadlines deadlines_{context_.get_executor()};
  std::vector<std::shared_ptr<EndpointPool>> pools_ = {pool(1), pool(2), pool(3)};
  Balancer balancer_{{{pools_[0], 0}, {pools_[1], 1}, {pools_[2], 2}}};
  config::BalanceConfig rules_;

 private:
  std::shared_ptr<EndpointPool> pool(std::uint16_t port) {
    auto endpoint = std::make_shared<Endpoint>(EndpointKey{"127.0.0.1", port, {}, {}, {}});
    http::UpstreamPool made(context_.get_executor(), deadlines_, "127.0.0.1", port);
    return std::make_shared<EndpointPool>(std::move(endpoint), std::move(made));
  }
};

TEST_F(BalancerTest, TakesTurns) {
  EXPECT_THAT(counts(9), ElementsAre(3, 3, 3));
  eject(1);
  EXPECT_THAT(counts(8), ElementsAre(4, 0, 4));
  endpoint(2).check_failed(1);
  EXPECT_THAT(counts(8), ElementsAre(8, 0, 0));
}

TEST_F(BalancerTest, ARequestGoesToThoseThatItHasNotTried) {
  eject(0);
  EXPECT_EQ(choose(), 1);
  EXPECT_EQ(choose({pools_[1]}), 2);
  EXPECT_EQ(choose({pools_[1], pools_[2]}), 0);  // ejected, but there is no other
  EXPECT_EQ(choose({pools_[1], pools_[2], pools_[0]}), -1);
}

TEST_F(BalancerTest, IfAllAreLeftOutAllAreUsed) {
  for (std::size_t i = 0; i < 3; ++i) eject(i);
  EXPECT_THAT(counts(9), ElementsAre(3, 3, 3));
}

TEST_F(BalancerTest, OneRequestTriesAnEjectedOne) {
  eject(1);
  EXPECT_THAT(counts(8, kNow + seconds(10)), ElementsAre(4, 1, 3));
}

TEST_F(BalancerTest, TheLeastBusyOneIsChosen) {
  rules_.by = config::Balance::least_connections;
  endpoint(0).exchange_count() = 2;
  endpoint(1).exchange_count() = 1;
  endpoint(2).exchange_count() = 3;
  EXPECT_THAT(counts(5), ElementsAre(0, 5, 0));
  eject(1);
  EXPECT_THAT(counts(5), ElementsAre(5, 0, 0));
  endpoint(0).exchange_count() = 3;  // as busy as the other: they take turns
  EXPECT_THAT(counts(6), ElementsAre(3, 0, 3));
}

TEST_F(BalancerTest, OneThatIsBackGetsLessForAWhile) {
  rules_.slow_start = seconds(100);
  endpoint(1).check_failed(1);
  endpoint(1).check_passed(kNow, 1);
  const int at_first = counts(3000)[1];
  EXPECT_GT(at_first, 50);
  EXPECT_LT(at_first, 200);  // a tenth of its turns
  const int later = counts(3000, kNow + seconds(50))[1];
  EXPECT_GT(later, 400);
  EXPECT_LT(later, 800);
  EXPECT_EQ(counts(3000, kNow + seconds(100))[1], 1000);

  rules_.by = config::Balance::least_connections;
  endpoint(0).exchange_count() = 4;
  endpoint(2).exchange_count() = 4;
  EXPECT_EQ(counts(10)[1], 0);  // one request there weighs as much as ten
  endpoint(0).exchange_count() = 12;
  endpoint(2).exchange_count() = 12;
  EXPECT_EQ(counts(10)[1], 10);
}

}  // namespace
}  // namespace semel::runtime
