// Background work never ends without a word.
#include "engine/spawn.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <stdexcept>
#include <vector>

namespace semel::engine {
namespace {

using boost::asio::awaitable;

class SpawnTest : public ::testing::Test {
 protected:
  SpawnTest() {
    on_task_failed([this](std::string_view task, std::string_view why) {
      reports.push_back(std::string(task) + ": " + std::string(why));
    });
  }
  ~SpawnTest() override {
    on_task_failed([](std::string_view, std::string_view) {});
  }

  boost::asio::io_context io{1};
  std::vector<std::string> reports;
};

TEST_F(SpawnTest, ALoopThatThrowsIsReportedAndBeginsAnew) {
  int runs = 0;
  spawn_loop(io.get_executor(), "sweeping", [&]() -> awaitable<void> {
    if (++runs == 1) throw std::runtime_error("out of luck");
    co_return;
  });
  io.run();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(reports, std::vector<std::string>{"sweeping: out of luck"});
}

TEST_F(SpawnTest, ATaskThatThrowsIsReported) {
  const auto task = []() -> awaitable<void> {
    throw 42;
    co_return;
  };
  boost::asio::co_spawn(io, task, OrReport{"giving back"});
  io.run();
  EXPECT_EQ(reports, std::vector<std::string>{
                         "giving back: something was thrown that is not a std::exception"});
}

TEST_F(SpawnTest, WhatTheProcessCannotDoWithoutEndsIt) {
  const auto end = [] {
    on_task_failed([](std::string_view task, std::string_view why) {
      std::fprintf(stderr, "%s: %s\n", std::string(task).c_str(), std::string(why).c_str());
    });
    boost::asio::io_context other{1};
    const auto task = []() -> awaitable<void> {
      throw std::runtime_error("gone");
      co_return;
    };
    boost::asio::co_spawn(other, task, OrStop{"listening"});
    other.run();
  };
  EXPECT_DEATH(end(), "listening: gone");
}

}  // namespace
}  // namespace semel::engine
