// A client against a service that does what each test says.
#include "http/client.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace semel::http {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;
using Wants = Client::Request::Wants;

constexpr Duration kLong = std::chrono::seconds(30);

struct Reply {
  std::string text;
  bool closes = false;
};
using Replies = std::vector<Reply>;  // to the requests of one connection; further ones get none

const Reply kOk{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"};
const Reply kClosed{"", true};
const Reply kBroken{"HTTP/1.1 200 O", true};
const Reply kCutShort{"HTTP/1.1 503 X\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\ncut", true};

class HttpClient : public testing::Test {
 protected:
  // Asks one after the other.
  std::vector<std::expected<Client::Answer, std::string>> ask(std::vector<Client::Request> requests,
                                                              Duration timeout = kLong) {
    std::vector<std::expected<Client::Answer, std::string>> answers;
    auto all = [&]() -> awaitable<void> {
      Client client(pool_, deadlines_, "service.example");
      for (Client::Request& request : requests) {
        answers.push_back(co_await client.ask(std::move(request), timeout));
      }
      context_.stop();
    };
    asio::co_spawn(context_, serve(), asio::detached);
    asio::co_spawn(context_, deadlines_.run(), asio::detached);
    asio::co_spawn(context_, all, asio::detached);
    context_.run();
    return answers;
  }

  std::vector<Replies> connections_;  // what the service does, by connection
  std::vector<std::string> heads_;    // of the requests that it got

 private:
  awaitable<void> serve() {
    for (const Replies& replies : connections_) {
      tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
      asio::co_spawn(context_, answer(std::move(socket), replies), asio::detached);
    }
  }

  awaitable<void> answer(tcp::socket socket, Replies replies) {
    std::string bytes;
    for (const Reply& reply : replies) {
      const std::size_t size = co_await asio::async_read_until(socket, asio::dynamic_buffer(bytes),
                                                               "\r\n\r\n", asio::use_awaitable);
      heads_.push_back(bytes.substr(0, size));
      bytes.clear();
      co_await asio::async_write(socket, asio::buffer(reply.text), asio::use_awaitable);
      if (reply.closes) co_return;
    }
    // Keeps the connection open and says no more.
    co_await asio::async_read_until(socket, asio::dynamic_buffer(bytes), "never",
                                    asio::use_awaitable);
  }

  asio::io_context context_;
  tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  Deadlines deadlines_{context_.get_executor()};
  UpstreamPool pool_{context_.get_executor(), deadlines_, "127.0.0.1",
                     acceptor_.local_endpoint().port()};
};

Client::Request post(bool is_repeatable) {
  Client::Request request;
  request.method = "POST";
  request.is_repeatable = is_repeatable;
  return request;
}

TEST_F(HttpClient, SaysWhatItIsTold) {
  connections_ = {{kOk}};
  Client::Request request;
  request.method = "POST";
  request.target = "/a?b";
  request.headers = {{"X-One", "1"}};
  request.body = "";
  const auto answers = ask({request});
  ASSERT_TRUE(answers[0]);
  EXPECT_EQ(answers[0]->status, 200);
  EXPECT_EQ(answers[0]->header("content-length"), "2");
  EXPECT_EQ(answers[0]->body, "ok");
  EXPECT_EQ(heads_[0],
            "POST /a?b HTTP/1.1\r\nHost: service.example\r\nX-One: 1\r\nContent-Length: 0\r\n\r\n");
}

TEST_F(HttpClient, SendsAGetAgainIfTheIdleConnectionWasClosed) {
  connections_ = {{kOk, kClosed}, {kOk}};
  const auto answers = ask({{}, {}});
  EXPECT_TRUE(answers[0]);
  EXPECT_TRUE(answers[1]);
  EXPECT_EQ(heads_.size(), 3u);
}

TEST_F(HttpClient, SendsAPostAgainOnlyIfToldThatItMay) {
  connections_ = {{kOk, kClosed}, {kOk, kClosed}};
  const auto answers = ask({post(false), post(true), post(false)});
  EXPECT_TRUE(answers[0]);
  EXPECT_TRUE(answers[1]);
  ASSERT_FALSE(answers[2]);
  EXPECT_EQ(answers[2].error(), "the connection ended before the whole answer");
  EXPECT_EQ(heads_.size(), 4u);
}

TEST_F(HttpClient, SendsNothingAgainOnceAnAnswerHasBegun) {
  connections_ = {{kOk, kBroken}, {kOk}};
  const auto answers = ask({post(true), post(true)});
  EXPECT_TRUE(answers[0]);
  EXPECT_FALSE(answers[1]);
  EXPECT_EQ(heads_.size(), 2u);
}

TEST_F(HttpClient, SendsNothingAgainOnAConnectionThatWasNew) {
  connections_ = {{kClosed}, {kOk}};
  const auto answers = ask({{}});
  EXPECT_FALSE(answers[0]);
  EXPECT_EQ(heads_.size(), 1u);
}

TEST_F(HttpClient, TakesAnAnswerThatIsCutShortOnlyIfTheHeadIsEnough) {
  connections_ = {{kCutShort}, {kCutShort}};
  Client::Request head_only = post(true);
  head_only.wants = Wants::head;
  const auto answers = ask({post(true), head_only});
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error(), "the connection ended before the whole answer");
  ASSERT_TRUE(answers[1]);
  EXPECT_EQ(answers[1]->status, 503);
  EXPECT_EQ(answers[1]->header("Retry-After"), "7");
  EXPECT_EQ(answers[1]->body, "");
}

TEST_F(HttpClient, TakesABodyThatIsTooLongOnlyIfTheHeadIsEnough) {
  connections_ = {{kOk}, {kOk}, {kOk}};
  Client::Request whole = post(true);
  whole.answer_bytes_max = 1;
  Client::Request head_only = whole;
  head_only.wants = Wants::head;
  const auto answers = ask({whole, head_only, post(true)});
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error(), "the answer's body is too large");
  ASSERT_TRUE(answers[1]);
  EXPECT_EQ(answers[1]->status, 200);
  EXPECT_TRUE(answers[2]);  // on a third connection: the other two are not used again
}

TEST_F(HttpClient, GivesUpInTime) {
  connections_ = {{}};
  const auto answers = ask({{}}, std::chrono::milliseconds(50));
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error(), "no answer in time");
}

}  // namespace
}  // namespace semel::http
