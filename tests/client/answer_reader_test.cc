#include "client/wire/answer_reader.h"

#include <gtest/gtest.h>

namespace semel::client {
namespace {

constexpr std::size_t kBodyMax = 1000;

// Feeds the text in pieces of that size. Returns the answer, or nullopt if it is not whole.
std::optional<Answer> read(std::string_view text, std::size_t piece, bool ended = false,
                           bool to_head = false) {
  AnswerReader reader(to_head, kBodyMax);
  for (std::size_t at = 0; at < text.size(); at += piece) {
    if (reader.put(text.substr(at, piece))) return std::nullopt;
  }
  if (ended && reader.end()) return std::nullopt;
  if (!reader.done()) return std::nullopt;
  return reader.take();
}

const std::string kLength = "HTTP/1.1 201 Made\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello";
const std::string kChunked =
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    "3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: t\r\n\r\n";

TEST(AnswerReader, ReadsPiecesOfAnySize) {
  for (std::size_t piece = 1; piece <= kChunked.size(); ++piece) {
    EXPECT_EQ(read(kLength, piece),
              (Answer{201, {{"Content-Length", "5"}, {"X-A", "b"}}, "hello"}));
    EXPECT_EQ(read(kChunked, piece)->body, "hello") << piece;
  }
}

TEST(AnswerReader, NeverTakesACutAnswerForAWholeOne) {
  for (const std::string& text : {kLength, kChunked}) {
    for (std::size_t end = 0; end < text.size(); ++end) {
      EXPECT_FALSE(read(text.substr(0, end), text.size(), true)) << end;
    }
  }
}

TEST(AnswerReader, ABodyWithoutALengthEndsWithTheConnection) {
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\n\r\nall of it", 4, true)->body, "all of it");
  EXPECT_FALSE(read("HTTP/1.1 200 OK\r\n\r\nall of it", 4, false));
}

TEST(AnswerReader, SomeAnswersHaveNoBody) {
  EXPECT_EQ(read("HTTP/1.1 204 No\r\n\r\n", 7)->status, 204);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 7, false, true)->status, 200);
}

TEST(AnswerReader, RefusesWhatHasTwoReadings) {
  for (const char* text :
       {"nonsense\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n", "HTTP/1.1 200 OK\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n"}) {
    AnswerReader reader(false, kBodyMax);
    EXPECT_TRUE(reader.put(text).has_value()) << text;
  }
}

TEST(AnswerReader, KeepsToItsLimits) {
  AnswerReader body(false, 4);
  EXPECT_EQ(body.put(kLength)->kind, Failure::Kind::too_large);
  AnswerReader head(false, kBodyMax);
  EXPECT_TRUE(head.put("HTTP/1.1 200 OK\r\nA: " + std::string(70000, 'a')).has_value());
  AnswerReader line(false, kBodyMax);
  EXPECT_FALSE(line.put("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").has_value());
  EXPECT_TRUE(line.put(std::string(10000, '0')).has_value());
}

TEST(AnswerReader, SaysWhetherTheConnectionCanBeUsedAgain) {
  const auto reusable = [](std::string_view text) {
    AnswerReader reader(false, kBodyMax);
    reader.put(text);
    return reader.reusable();
  };
  EXPECT_TRUE(reusable(kLength));
  EXPECT_FALSE(reusable(kLength + "more"));
  EXPECT_FALSE(reusable("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, Close\r\n\r\n"));
  EXPECT_FALSE(reusable("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
}

}  // namespace
}  // namespace semel::client
