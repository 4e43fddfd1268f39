#pragma once

#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace semel::telemetry {

// Writes the lines of the log from a thread of its own: whole, in order, and within
// kLogWrittenWithin. Never holds a caller up: while the log takes lines slower than they come,
// those beyond kLogPendingBytesMax are dropped, and a line says how many. Thread-safe.
inline constexpr auto kLogWrittenWithin = std::chrono::milliseconds(100);
// A second of 16,000 lines of 250 bytes.
inline constexpr std::size_t kLogPendingBytesMax = 4 * 1024 * 1024;

class LogWriter {
 public:
  // Returns the line that says how many lines were dropped.
  using DroppedLine = std::function<std::string(std::uint64_t lines)>;

  // Opens the file to append to it, and makes it if need be (mode 0640). Without a path the lines
  // go to standard error. The error says why the file cannot be opened.
  static std::expected<std::shared_ptr<LogWriter>, std::string> open(const std::string& path,
                                                                     DroppedLine dropped_line);
  // Writes what is left, unless nobody takes it.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // The line has its end.
  void append(std::string_view line);
  // Like append(), and writes everything pending at once where that cannot hold the caller up.
  void append_urgent(std::string_view line);
  // Returns when everything appended before is written; after a second at the latest.
  void flush();
  // Lets the thread open the file anew: it was moved away. May be called from a signal handler.
  // Keeps the old file if the new one cannot be opened.
  void reopen();

 private:
  LogWriter(std::string path, int fd, DroppedLine dropped_line);
  void run();
  void append_locked(std::string_view line);
  // Takes what is pending, to be written by the caller. False: somebody else is writing.
  bool take(std::unique_lock<std::mutex>& lock, std::string& lines);
  void write(std::unique_lock<std::mutex>& lock, std::string lines);
  void open_anew();
  bool can_write_at_once(std::size_t bytes) const;

  const std::string path_;
  const DroppedLine dropped_line_;
  int fd_;  // used by whoever is writing
  sem_t wake_;
  std::atomic<bool> reopen_ = false;
  std::atomic<bool> ending_ = false;

  std::mutex mutex_;
  std::condition_variable written_;
  std::string pending_;
  std::uint64_t dropped_ = 0;
  std::uint64_t appended_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;
  bool is_writing_ = false;

  std::thread thread_;
};

}  // namespace semel::telemetry
