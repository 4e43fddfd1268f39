#include "semel/driver/inbox.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <stdexcept>

#include "support/engine_bench.h"

namespace semel::support {
namespace {

namespace asio = boost::asio;
using asio::awaitable;

class InboxTest : public ::testing::Test {
 protected:
  // A handler that counts its calls and ends like this.
  Inbox::Handler ends_in(Outcome outcome) {
    return [this, outcome](const Claim&) -> awaitable<Outcome> {
      ++calls;
      co_return outcome;
    };
  }
  InboxResult once(std::string id, std::string body, Inbox::Handler handler) {
    return bench.run(inbox.once(std::move(id), std::move(body), std::move(handler)));
  }

  EngineBench bench;
  Engine& engine = bench.add_engine("a");
  Inbox inbox{engine, bench.scope, bench.operation};
  int calls = 0;
};

TEST_F(InboxTest, AMessageThatComesAgainIsDoneWithoutACall) {
  const auto first = std::get<inbox::Done>(once("m", "pay", ends_in(final_outcome("paid"))));
  EXPECT_FALSE(first.before);
  const auto second = std::get<inbox::Done>(once("m", "pay", ends_in(final_outcome("again"))));
  EXPECT_TRUE(second.before);
  EXPECT_EQ(second.answer.body, "paid");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(bench.state("m"), RecordState::completed);
}

TEST_F(InboxTest, ARetryOutcomeIsToComeAgainAsTheNextAttempt) {
  EXPECT_EQ(std::get<inbox::Again>(once("m", "pay", ends_in(retry_outcome()))).attempt, 1u);
  EXPECT_EQ(bench.state("m"), RecordState::released);
  EXPECT_EQ(std::get<inbox::Again>(once("m", "pay", ends_in(retry_outcome()))).attempt, 2u);
  EXPECT_FALSE(std::get<inbox::Done>(once("m", "pay", ends_in(final_outcome("paid")))).before);
  EXPECT_EQ(calls, 3);
}

TEST_F(InboxTest, AHandlerThatThrowsMayHaveActedAndIsNotCalledAgain) {
  auto throws = [this](const Claim&) -> awaitable<Outcome> {
    ++calls;
    throw std::runtime_error("out of luck");
    co_return Outcome{};
  };
  const auto unknown = std::get<inbox::Unknown>(once("m", "pay", throws));
  EXPECT_NE(unknown.why.find("out of luck"), std::string::npos);
  EXPECT_EQ(bench.state("m"), RecordState::unknown);
  EXPECT_TRUE(
      std::holds_alternative<inbox::Unknown>(once("m", "pay", ends_in(final_outcome("paid")))));
  EXPECT_EQ(calls, 1);
}

TEST_F(InboxTest, WhateverAHandlerThrowsIsUnknown) {
  auto throws = [](const Claim&) -> awaitable<Outcome> {
    throw 42;
    co_return Outcome{};
  };
  EXPECT_TRUE(std::holds_alternative<inbox::Unknown>(once("m", "pay", throws)));
  EXPECT_EQ(bench.state("m"), RecordState::unknown);
}

TEST_F(InboxTest, AHandlerThatWasCancelledMayHaveActed) {
  auto waits = [this](const Claim&) -> awaitable<Outcome> {
    ++calls;
    asio::steady_timer never(bench.io, asio::steady_timer::time_point::max());
    co_await never.async_wait(asio::use_awaitable);
    co_return final_outcome("paid");
  };
  asio::cancellation_signal cancel;
  std::optional<InboxResult> result;
  asio::co_spawn(bench.io, inbox.once("m", "pay", waits),
                 asio::bind_cancellation_slot(cancel.slot(),
                                              [&](std::exception_ptr failed, InboxResult ended) {
                                                if (failed) std::rethrow_exception(failed);
                                                result = std::move(ended);
                                              }));
  bench.time.run_for(std::chrono::seconds(1));
  EXPECT_EQ(calls, 1);
  cancel.emit(asio::cancellation_type::terminal);
  bench.time.run_for(std::chrono::seconds(1));
  ASSERT_TRUE(result);
  EXPECT_TRUE(std::holds_alternative<inbox::Unknown>(*result));
  EXPECT_EQ(bench.state("m"), RecordState::unknown);
}

TEST_F(InboxTest, AnotherBodyUnderTheIdIsRefused) {
  once("m", "pay 10", ends_in(final_outcome("paid")));
  EXPECT_TRUE(
      std::holds_alternative<inbox::Refused>(once("m", "pay 11", ends_in(final_outcome("paid")))));
  EXPECT_EQ(calls, 1);
}

TEST_F(InboxTest, WhatRunsElsewhereIsToComeAgainAndIsNoAttempt) {
  auto slow = [this](const Claim&) -> awaitable<Outcome> {
    ++calls;
    co_await bench.clock.sleep(std::chrono::seconds(5));
    co_return final_outcome("paid");
  };
  Later<InboxResult> first = bench.start(inbox.once("m", "pay", slow));
  const auto second = std::get<inbox::Again>(once("m", "pay", slow));
  EXPECT_EQ(second.attempt, 0u);
  EXPECT_FALSE(first.done());
  bench.time.run_for(std::chrono::seconds(6));
  EXPECT_TRUE(std::holds_alternative<inbox::Done>(first.value()));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace semel::support
