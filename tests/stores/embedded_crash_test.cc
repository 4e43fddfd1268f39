// After a kill or a power cut the embedded store has everything it had acknowledged. If it cannot
// be sure of that, it refuses to open.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/detached.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <variant>

#include "stores/crash_child.h"
#include "stores/embedded/layout.h"
#include "stores/embedded/wal.h"
#include "stores/embedded_harness.h"

namespace semel::stores {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

// ---- A power cut: the log as it was at some moment, and what a disk may have made of its end.

fs::path log_of(const fs::path& store) {
  fs::path last;
  for (const auto& entry : fs::directory_iterator(store)) {
    if (entry.path().extension() == ".log") last = std::max(last, entry.path());
  }
  return last;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class PowerCutTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kRecords = 10;
  static constexpr std::size_t kPageBytes = 4096;

  // Ten acknowledged swaps of some 20 KB each; then the power goes.
  PowerCutTest() {
    const auto store = open_or_throw({.path = live_});
    log_bytes_.push_back(fs::file_size(log_of(live_)));
    for (std::uint64_t n = 0; n < kRecords; ++n) {
      Record record = completion_of(id_of(n), kThen);
      record.answer.body.resize(20'000, static_cast<char>('a' + n));
      EXPECT_TRUE(
          std::holds_alternative<swap::Applied>(run(store->swap(record.id, 0, shared(record)))));
      log_bytes_.push_back(fs::file_size(log_of(live_)));
    }
    fs::copy(live_, after_, fs::copy_options::recursive);
    log_ = contents(log_of(after_));
    log_.resize(log_bytes_.back());
  }

  // Where the n-th swap lies in the log.
  std::size_t begin_of(std::uint64_t n) const { return log_bytes_[n]; }
  std::size_t page_after(std::size_t at) const { return (at / kPageBytes + 1) * kPageBytes; }
  void zero(std::size_t from, std::size_t to) {
    std::fill(log_.begin() + static_cast<std::ptrdiff_t>(from),
              log_.begin() + static_cast<std::ptrdiff_t>(to), '\0');
  }

  std::expected<std::unique_ptr<Store>, std::string> open_after() {
    std::ofstream(log_of(after_), std::ios::binary | std::ios::trunc) << log_;
    return open_embedded_store({.path = after_});
  }
  // How many of the swaps are there, without a gap. Opens twice: recovery must be repeatable.
  std::uint64_t recovered() {
    for (int round = 0; round < 2; ++round) {
      const auto store = round == 0 ? open_after() : open_embedded_store({.path = after_});
      if (!store) throw std::runtime_error(store.error());
      std::uint64_t count = 0;
      while (count < kRecords && run((*store)->read(id_of(count))).value()) ++count;
      for (std::uint64_t n = count; n < kRecords; ++n) {
        EXPECT_FALSE(run((*store)->read(id_of(n))).value()) << "a gap before " << n;
      }
      EXPECT_EQ(run((*store)->sweep(kThen, 100))->size(), count);
      if (round == 1) return count;
    }
    return 0;
  }

  ScratchDirectory directory_;
  fs::path live_ = directory_.path() / "live";
  fs::path after_ = directory_.path() / "after";
  std::vector<std::size_t> log_bytes_;
  std::string log_;
};

TEST_F(PowerCutTest, NothingIsLostBetweenSwaps) {
  EXPECT_EQ(recovered(), kRecords);
}

TEST_F(PowerCutTest, ACutSwapIsNotThere) {
  for (const std::size_t kept : {3UZ, 7UZ, 5000UZ, 19'000UZ}) {
    const std::string whole = log_;
    log_.resize(begin_of(9) + kept);
    EXPECT_EQ(recovered(), 9) << kept;
    log_ = whole;
    fs::remove_all(after_);
    fs::copy(live_, after_, fs::copy_options::recursive);
  }
}

TEST_F(PowerCutTest, ASwapWithAHoleIsNotThere) {
  const std::size_t hole = page_after(page_after(begin_of(9)));
  zero(hole, hole + kPageBytes);
  EXPECT_EQ(recovered(), 9);
}

TEST_F(PowerCutTest, ASwapWithoutItsBeginningIsNotThere) {
  zero(begin_of(9), page_after(begin_of(9)));
  EXPECT_EQ(recovered(), 9);
}

TEST_F(PowerCutTest, ASwapWithoutItsEndIsNotThere) {
  zero(page_after(begin_of(9)), log_.size());
  EXPECT_EQ(recovered(), 9);
}

TEST_F(PowerCutTest, ASwapOfZerosIsNotThere) {
  zero(begin_of(9), log_.size());
  EXPECT_EQ(recovered(), 9);
}

// From here on it was no power cut: something acknowledged lies behind the damage.

TEST_F(PowerCutTest, AFlippedBitInsideRefusesToOpen) {
  log_[begin_of(5) + 500] ^= 1;
  EXPECT_THAT(open_after().error(), HasSubstr("is damaged"));
}

TEST_F(PowerCutTest, AHoleInsideRefusesToOpen) {
  const std::size_t hole = page_after(begin_of(5));
  zero(hole, hole + kPageBytes);
  EXPECT_THAT(open_after().error(), HasSubstr("is damaged"));
}

TEST_F(PowerCutTest, AHoleJustBeforeTheLastSwapRefusesToOpen) {
  zero(begin_of(8), begin_of(9));
  EXPECT_THAT(open_after().error(), HasSubstr("is damaged"));
}

TEST_F(PowerCutTest, OnlyTheDamageMattersForTheVerdict) {
  ASSERT_TRUE(open_after());
  fs::create_directory(directory_.path() / "log");
  const auto judge = [&] {
    std::ofstream(directory_.path() / "log" / "000007.log", std::ios::binary) << log_;
    return judge_wal(directory_.path() / "log");
  };
  EXPECT_EQ(judge(), WalDamage::none);
  log_.resize(begin_of(9) + 100);
  EXPECT_EQ(judge(), WalDamage::torn);
  log_[begin_of(2) + 100] ^= 1;
  EXPECT_EQ(judge(), WalDamage::inside);
}

// ---- A log that is no longer the newest one, shortened: recovery alone takes its end for a torn
// write, and what was acknowledged there would run again.

class OlderLogTest : public testing::TestWithParam<bool> {
 protected:
  // Two swaps in one log, a third in the next one, and no table has them yet.
  void SetUp() override {
    const auto store = open_or_throw(options_);
    acknowledge(*store, 1);
    older_ = log_of(options_.path);
    before_second_ = fs::file_size(older_);
    acknowledge(*store, 2);
    for (std::uint32_t n = 0; log_of(options_.path) == older_; ++n) {
      EXPECT_TRUE(run(store->put_chunk(id_of(9), Token{}, n, std::string(1 << 20, 'x'))));
      ASSERT_LT(n, 64) << "no second log";
    }
    acknowledge(*store, 3);
    fs::copy(options_.path, after_, fs::copy_options::recursive);
    older_ = after_ / older_.filename();
    options_.path = after_;
  }
  void acknowledge(Store& store, std::uint64_t n) {
    const SwapResult result = run(store.swap(id_of(n), 0, shared(completion_of(id_of(n), kNever))));
    EXPECT_TRUE(std::holds_alternative<swap::Applied>(result));
  }

  ScratchDirectory directory_;
  EmbeddedOptions options_{.path = directory_.path() / "live", .sync = GetParam()};
  fs::path after_ = directory_.path() / "after";
  fs::path older_;
  std::size_t before_second_ = 0;
};

TEST_P(OlderLogTest, WholeItOpens) {
  const auto store = open_or_throw(options_);
  for (const std::uint64_t n : {1, 2, 3}) EXPECT_TRUE(run(store->read(id_of(n))).value()) << n;
}

TEST_P(OlderLogTest, ShortenedItIsRefused) {
  fs::resize_file(older_, before_second_);
  const auto store = open_embedded_store(options_);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error(), HasSubstr("is damaged"));
  EXPECT_THAT(store.error(), HasSubstr("Restore a backup"));
}

TEST_P(OlderLogTest, ShortenedByOneByteItIsRefused) {
  fs::resize_file(older_, fs::file_size(older_) - 1);
  EXPECT_FALSE(open_embedded_store(options_));
}

TEST_P(OlderLogTest, MissingItIsRefused) {
  fs::remove(older_);
  EXPECT_FALSE(open_embedded_store(options_));
}

TEST_P(OlderLogTest, WithoutAnyLogTheStoreIsRefused) {
  options_.path = directory_.path() / "one log";
  acknowledge(*open_or_throw(options_), 1);
  fs::remove(log_of(options_.path));
  const auto store = open_embedded_store(options_);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error(), HasSubstr("logs (*.log) are missing"));
}

// RocksDB takes a directory without CURRENT for an empty one, and deletes the tables and logs in
// it.
TEST_P(OlderLogTest, WithoutCurrentTheStoreIsRefusedAndLeftAsItIs) {
  fs::copy(after_ / "CURRENT", directory_.path() / "kept");
  fs::remove(after_ / "CURRENT");
  const auto names = [this] {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(after_)) found.insert(entry.path().filename());
    return found;
  };
  const auto before = names();
  for (int tries = 0; tries < 3; ++tries) {
    const auto store = open_embedded_store(options_);
    ASSERT_FALSE(store);
    EXPECT_THAT(store.error(), HasSubstr("its file CURRENT is missing"));
    EXPECT_THAT(store.error(), HasSubstr("Restore a backup"));
  }
  EXPECT_EQ(names(), before);
  fs::copy(directory_.path() / "kept", after_ / "CURRENT");
  const auto store = open_or_throw(options_);
  for (const std::uint64_t n : {1, 2, 3}) EXPECT_TRUE(run(store->read(id_of(n))).value()) << n;
}

TEST_P(OlderLogTest, WhateverIsLeftOfAStoreIsRefused) {
  {
    open_or_throw(options_);
  }  // makes tables of the logs
  const auto remove = [this](std::string_view part) {
    for (const auto& entry : fs::directory_iterator(after_)) {
      if (entry.path().filename().string().contains(part)) fs::remove(entry.path());
    }
  };
  remove("CURRENT");
  remove(".log");
  EXPECT_FALSE(open_embedded_store(options_));
  remove("MANIFEST");
  EXPECT_FALSE(open_embedded_store(options_));
  remove(".sst");
  EXPECT_TRUE(open_embedded_store(options_));
}

// As a refused start of an earlier release leaves it.
TEST_P(OlderLogTest, ANewCurrentBesideOldTablesIsRefused) {
  {
    open_or_throw(options_);
  }  // makes tables of the logs
  std::ofstream(after_ / "CURRENT") << "MANIFEST-000001\n";
  const auto store = open_embedded_store(options_);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error(), HasSubstr("names an empty database"));
}

TEST_P(OlderLogTest, WithoutItsManifestTheStoreIsRefused) {
  for (const auto& entry : fs::directory_iterator(after_)) {
    if (entry.path().filename().string().starts_with("MANIFEST")) fs::remove(entry.path());
  }
  const auto store = open_embedded_store(options_);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error(), HasSubstr("Restore a backup"));
}

INSTANTIATE_TEST_SUITE_P(Durability, OlderLogTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "power" : "crash"; });

// ---- A kill: a child writes until it is killed and tells each acknowledged swap through a pipe.

constexpr int kChildPipe = 3;
constexpr std::uint64_t kWriters = 16;

struct Acknowledged {
  std::uint64_t writer = 0;
  Version version = 0;
};

asio::awaitable<void> write_for_ever(Store& store, std::uint64_t writer) {
  const RecordId id = id_of(writer);
  const auto found = co_await store.read(id);
  Version version = found.value() ? found.value()->version : 0;
  for (;;) {
    Record next = claim_of(id);
    next.answer.body.resize(writer * 1000, 'x');
    const SwapResult result = co_await store.swap(id, version, shared(std::move(next)));
    version = std::get<swap::Applied>(result).version;
    const Acknowledged line{writer, version};
    if (write(kChildPipe, &line, sizeof line) != sizeof line) std::abort();
  }
}

// Runs the child for a while, kills it, and adds what it had acknowledged to `last`.
void write_and_kill(const EmbeddedOptions& options, std::map<std::uint64_t, Version>& last) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kChildPipe);
  std::string program = "/proc/self/exe";
  std::string command = kWriteUntilKilled;
  std::string path = options.path;
  std::string syncs = options.sync ? "sync" : "no-sync";
  char* arguments[] = {program.data(), command.data(), path.data(), syncs.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);

  constexpr int kAcknowledgedBeforeKill = 300;
  int count = 0;
  for (Acknowledged line; read(ends[0], &line, sizeof line) == sizeof line;) {
    last[line.writer] = line.version;
    if (++count == kAcknowledgedBeforeKill) kill(child, SIGKILL);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

class EmbeddedKillTest : public testing::TestWithParam<bool> {};

TEST_P(EmbeddedKillTest, WhatWasAcknowledgedIsThere) {
  const ScratchDirectory directory;
  const EmbeddedOptions options{.path = directory.path() / "store", .sync = GetParam()};
  std::map<std::uint64_t, Version> last;
  for (int round = 0; round < 4; ++round) {
    write_and_kill(options, last);
    const auto store = open_or_throw(options);
    for (const auto& [writer, version] : last) {
      const auto found = run(store->read(id_of(writer)));
      ASSERT_TRUE(found && *found);
      // A later swap may have landed whose caller was killed before it could say so.
      EXPECT_GE((*found)->version, version);
      EXPECT_EQ((*found)->answer.body.size(), writer * 1000);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Durability, EmbeddedKillTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "power" : "crash"; });

}  // namespace

void write_until_killed(const std::string& path, bool sync) {
  const auto store = open_or_throw({.path = path, .sync = sync});
  asio::io_context io;
  for (std::uint64_t writer = 0; writer < kWriters; ++writer) {
    asio::co_spawn(io, write_for_ever(*store, writer), asio::detached);
  }
  io.run();
}

}  // namespace semel::stores
