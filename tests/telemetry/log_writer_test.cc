// The log is written whole and soon, by a thread that alone may be held up.
#include "telemetry/log_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <vector>

namespace semel::telemetry {
namespace {

namespace fs = std::filesystem;

class LogWriterTest : public testing::Test {
 protected:
  LogWriterTest() {
    std::string name = (fs::temp_directory_path() / "semel-log-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~LogWriterTest() override { fs::remove_all(folder_); }

  std::unique_ptr<LogWriter> open(const fs::path& path) {
    auto opened = LogWriter::open(path.string(), [](auto event, auto field, auto value) {
      return std::string(event).append(": ").append(field).append(" ").append(value) + "\n";
    });
    return opened ? *std::move(opened) : nullptr;
  }
  static std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  fs::path folder_;
};

TEST_F(LogWriterTest, LinesOfAllThreadsArriveWholeAndInTheOrderOfEach) {
  const fs::path file = folder_ / "log";
  const auto writer = open(file);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&writer, thread] {
      for (int line = 0; line < 5000; ++line) {
        const std::string text = std::to_string(thread) + " " + std::to_string(line) + "\n";
        line % 500 == 0 ? writer->append_urgent(text) : writer->append(text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  writer->flush();
  std::istringstream lines(read(file));
  std::vector<int> next(4);
  for (int thread = 0, line = 0; lines >> thread >> line;) {
    ASSERT_LT(thread, 4);
    ASSERT_EQ(line, next[static_cast<std::size_t>(thread)]++);
  }
  EXPECT_EQ(next, std::vector<int>(4, 5000));
}

TEST_F(LogWriterTest, AnUrgentLineIsThereAtOnceWithWhatCameBeforeIt) {
  const fs::path file = folder_ / "log";
  const auto writer = open(file);
  writer->append("first\n");
  writer->append_urgent("second\n");
  // The thread may just be writing the first one.
  writer->flush();
  EXPECT_EQ(read(file), "first\nsecond\n");
}

TEST_F(LogWriterTest, TheRestIsWrittenAtTheEnd) {
  const fs::path file = folder_ / "log";
  open(file)->append("last words\n");
  EXPECT_EQ(read(file), "last words\n");
}

TEST_F(LogWriterTest, AFileThatWasMovedAwayIsMadeAnew) {
  const fs::path file = folder_ / "log";
  const auto writer = open(file);
  writer->append("one\n");
  writer->flush();
  fs::rename(file, folder_ / "log.1");
  writer->append("two\n");
  writer->flush();
  EXPECT_EQ(read(folder_ / "log.1"), "one\ntwo\n");
  writer->reopen();
  writer->append("three\n");
  writer->flush();
  EXPECT_EQ(read(folder_ / "log.1"), "one\ntwo\n");
  EXPECT_EQ(read(file), "three\n");
}

TEST_F(LogWriterTest, AFileThatCannotBeMadeAnewIsKept) {
  const fs::path file = folder_ / "in" / "log";
  fs::create_directory(folder_ / "in");
  const auto writer = open(file);
  fs::rename(folder_ / "in", folder_ / "moved");
  writer->reopen();
  writer->append("one\n");
  writer->flush();
  EXPECT_NE(read(folder_ / "moved/log").find("log.file not opened anew: why No such file"),
            std::string::npos);
  EXPECT_NE(read(folder_ / "moved/log").find("one\n"), std::string::npos);
}

TEST_F(LogWriterTest, APipeThatNobodyReadsIsAnError) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(LogWriter::open((folder_ / "pipe").string(), {}));
}

TEST_F(LogWriterTest, AFileThatCannotBeOpenedIsAnError) {
  const auto opened = LogWriter::open((folder_ / "none/log").string(), {});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().find("none/log cannot be opened: No such file"), std::string::npos);
}

// A pipe that nobody reads: callers go on, memory is bounded, and later a line tells the number.
TEST_F(LogWriterTest, AReaderThatStopsHoldsUpNobody) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  auto writer = open(pipe);
  const std::string line(999, 'x');
  constexpr std::uint64_t kLines = 10'000;
  static_assert(kLines * 1000 > kLogPendingBytesMax + 1024 * 1024);
  for (std::uint64_t n = 0; n < kLines; ++n) writer->append_urgent(line + "\n");
  auto last = std::async(std::launch::async, [&writer] { writer.reset(); });
  std::string text;
  std::vector<char> piece(1 << 20);
  ::fcntl(reader, F_SETFL, 0);
  for (ssize_t n = 0; (n = ::read(reader, piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
  last.get();
  ::close(reader);
  constexpr std::string_view kDropped = "log lines dropped: lines ";
  std::uint64_t whole = 0;
  std::uint64_t dropped = 0;
  std::istringstream lines(text);
  for (std::string got; std::getline(lines, got);) {
    if (got == line) ++whole;
    if (got.starts_with(kDropped)) dropped += std::stoull(got.substr(kDropped.size()));
  }
  EXPECT_EQ(whole + dropped, kLines);
  EXPECT_GT(dropped, 0U);
  EXPECT_LE(whole * 1000, 2 * kLogPendingBytesMax + (1 << 20));
}

}  // namespace
}  // namespace semel::telemetry
