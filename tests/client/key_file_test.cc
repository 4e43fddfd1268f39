#include "client/key_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

namespace semel::client {
namespace {

constexpr Time kMadeAt = Time(std::chrono::hours(1));
constexpr Time kLater = Time(std::chrono::hours(2));

class KeyFileTest : public testing::Test {
 protected:
  KeyFileTest() {
    char folder[] = "/tmp/semel-keys-XXXXXX";
    folder_ = mkdtemp(folder);
    file_ = folder_ + "/keys";
  }
  ~KeyFileTest() override { std::filesystem::remove_all(folder_); }

  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(file_).rdbuf();
    return out.str();
  }
  void write(const std::string& what) const {
    std::ofstream(file_) << what;
    ::chmod(file_.c_str(), 0600);
  }

  std::string folder_;
  std::string file_;
};

TEST_F(KeyFileTest, RemembersTheFirstKeyOfAName) {
  EXPECT_EQ(KeyFile(file_).find_or_add("a", "d1", "k1", kMadeAt)->key, "k1");
  const auto again = KeyFile(file_).find_or_add("a", "d1", "k2", kLater);
  EXPECT_EQ(again->key, "k1");
  EXPECT_EQ(again->made_at, kMadeAt);
  EXPECT_EQ(KeyFile(file_).find_or_add("b", "d1", "k3", kLater)->key, "k3");
  EXPECT_EQ(text(), "semel-keys 1\na\tk1\td1\t3600000\nb\tk3\td1\t7200000\n");
  struct stat status{};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(KeyFileTest, RefusesAnotherRequestUnderAName) {
  ASSERT_TRUE(KeyFile(file_).find_or_add("a", "d1", "k1", kMadeAt));
  const auto other = KeyFile(file_).find_or_add("a", "d2", "k2", kMadeAt);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().find("another request"), std::string::npos);
}

TEST_F(KeyFileTest, ForgetsANameAndKeepsTheOthers) {
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(KeyFile(file_).find_or_add(name, "d", std::string("k-") + name, kMadeAt));
  }
  EXPECT_EQ(KeyFile(file_).remove("b"), true);
  EXPECT_EQ(KeyFile(file_).remove("b"), false);
  EXPECT_EQ(KeyFile(folder_ + "/none").remove("b"), false);
  EXPECT_EQ(text(), "semel-keys 1\na\tk-a\td\t3600000\nc\tk-c\td\t3600000\n");
  EXPECT_EQ(KeyFile(file_).find_or_add("b", "d", "new", kMadeAt)->key, "new");
}

TEST_F(KeyFileTest, DropsWhatAnInterruptedWriteLeft) {
  for (const char* left : {"", "semel-ke", "semel-keys 1\n", "semel-keys 1\na\tk1\td1\t36000"}) {
    write(left);
    EXPECT_EQ(KeyFile(file_).find_or_add("a", "d", "k2", kMadeAt)->key, "k2") << left;
    EXPECT_EQ(text(), "semel-keys 1\na\tk2\td\t3600000\n");
  }
}

TEST_F(KeyFileTest, RefusesFilesThatAreNotItsOwn) {
  write("shopping list\n");
  EXPECT_FALSE(KeyFile(file_).find_or_add("a", "d", "k", kMadeAt));
  EXPECT_EQ(text(), "shopping list\n");
  write("semel-keys 1\nonly two\tparts\n");
  EXPECT_FALSE(KeyFile(file_).find_or_add("a", "d", "k", kMadeAt));
  write("semel-keys 1\n");
  ::chmod(file_.c_str(), 0644);
  EXPECT_FALSE(KeyFile(file_).find_or_add("a", "d", "k", kMadeAt));
  std::filesystem::remove(file_);
  std::filesystem::create_symlink(folder_ + "/elsewhere", file_);
  EXPECT_FALSE(KeyFile(file_).find_or_add("a", "d", "k", kMadeAt));
}

TEST_F(KeyFileTest, RefusesNamesThatAreNoLine) {
  const std::string names[] = {"", "a\tb", "a\nb", std::string(256, 'a')};
  for (const std::string& name : names) {
    EXPECT_FALSE(KeyFile(file_).find_or_add(name, "d", "k", kMadeAt)) << name;
  }
}

TEST_F(KeyFileTest, ManyAtOnceGetOneKey) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 5;
  std::vector<std::string> keys(kThreads * kRounds);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < kRounds; ++round) {
          const std::string mine = "k" + std::to_string(i);
          const auto at = static_cast<std::size_t>(i * kRounds + round);
          keys[at] =
              KeyFile(file_).find_or_add("n" + std::to_string(round), "d", mine, kMadeAt)->key;
          // Puts new files in the place of the one that others wait for.
          ASSERT_TRUE(KeyFile(file_).find_or_add(mine, "d", mine, kMadeAt));
          ASSERT_EQ(KeyFile(file_).remove(mine), true);
        }
      });
    }
  }
  for (int round = 0; round < kRounds; ++round) {
    std::set<std::string> seen;
    for (int i = 0; i < kThreads; ++i)
      seen.insert(keys[static_cast<std::size_t>(i * kRounds + round)]);
    EXPECT_EQ(seen.size(), 1u);
  }
}

}  // namespace
}  // namespace semel::client
