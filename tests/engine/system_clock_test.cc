#include "engine/system_clock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>
#include <string>

namespace semel::engine {
namespace {

using Tokens = std::array<Token, 8>;

Tokens drawn(SystemTokens& source, const RecordId& id) {
  Tokens tokens;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = i % 2 == 0 ? source.next_for(id) : source.next();
  }
  return tokens;
}

// A child begins with the memory of its parent, as a restored machine does with that of its
// snapshot. If both drew the same token for a record, an attempt that was given up would pass for
// the current one.
TEST(SystemTokens, AreNotDrawnAgainFromTheSameMemory) {
  SystemTokens source;
  const RecordId id{};
  const Tokens before = drawn(source, id);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Tokens tokens = drawn(source, id);
    const ssize_t written = ::write(ends[1], tokens.data(), sizeof tokens);
    ::_exit(written == sizeof tokens ? 0 : 1);
  }
  const Tokens here = drawn(source, id);
  Tokens there;
  EXPECT_EQ(::read(ends[0], there.data(), sizeof there), static_cast<ssize_t>(sizeof there));
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::close(ends[0]);
  ::close(ends[1]);

  std::set<std::string> all;
  for (const Tokens& tokens : {before, here, there}) {
    for (const Token& token : tokens) all.insert(token.hex());
  }
  EXPECT_EQ(all.size(), 3 * before.size());
}

// A kernel that was restored with its machine may give the same random bytes twice.
TEST(SystemTokens, DifferByRecordAndTimeEvenIfTheRandomBytesAreTheSame) {
  const std::string fresh(32, 'r');
  RecordId other;
  other.bytes.fill(1);
  const Token token = mix_token(fresh, {}, 1, 2);
  EXPECT_EQ(mix_token(fresh, {}, 1, 2), token);
  EXPECT_NE(mix_token(std::string(32, 's'), {}, 1, 2), token);
  EXPECT_NE(mix_token(fresh, other, 1, 2), token);
  EXPECT_NE(mix_token(fresh, {}, 3, 2), token);
  EXPECT_NE(mix_token(fresh, {}, 1, 3), token);
}

}  // namespace
}  // namespace semel::engine
