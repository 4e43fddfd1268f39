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

inline constexpr auto kLogWrittenWithin = std::chrono::milliseconds(100);
// A second of 16,000 lines of 250 bytes.
inline constexpr std::size_t kLogPendingBytesMax = 4 * 1024 * 1024;

// Writes the lines of the log from a thread of its own: whole, in order, and within
// kLogWrittenWithin. Never holds a caller up: while the log takes lines slower than they come,
// those beyond kLogPendingBytesMax are dropped, and a line says how many. Thread-safe.
class LogWriter {
 public:
  // Makes the line about an event of the log itself, which has one field.
  using Notice = std::function<std::string(std::string_view event, std::string_view field,
                                           std::string_view value)>;

  // Opens the file to append to it, and makes it if need be (mode 0600). Without a path the lines
  // go to standard error. The error says why the file cannot be opened.
  static std::expected<std::unique_ptr<LogWriter>, std::string> open(const std::string& path,
                                                                     Notice notice);
  // Writes what is left. Waits for as long as nobody takes it.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // The line has its end.
  void append(std::string_view line);
  // Like append(), and has everything pending written at once: by the caller if that cannot hold it
  // up, otherwise by the thread.
  void append_urgent(std::string_view line);
  // Returns when everything appended before is written; after a second at the latest.
  void flush();
  // Lets the thread open the file anew: it was moved away. May be called from a signal handler.
  // Keeps the old file, and says so in it, if the new one cannot be opened.
  void reopen();

 private:
  LogWriter(std::string path, int fd, Notice notice);
  void run();
  void append_locked(std::string_view line);
  // Takes what is pending for the caller, who is the one that writes until written() is called.
  std::string take();
  void written(std::size_t bytes);
  // Returns how much was written. If the descriptor does not block, waits for it or gives up.
  std::size_t write(std::string_view lines, bool may_wait);
  void write_pending();
  // Returns the line to write about it if it failed.
  std::string open_anew();
  bool can_write_at_once(std::size_t bytes) const;

  const std::string path_;
  const Notice notice_;
  int fd_;
  sem_t wake_;
  std::atomic<bool> reopen_ = false;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> urgent_ = false;

  std::mutex mutex_;
  std::condition_variable written_;
  std::string pending_;
  std::uint64_t dropped_ = 0;
  std::uint64_t appended_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;
  bool is_writing_ = false;
  bool is_torn_ = false;  // the last line written has no end

  std::thread thread_;
};

}  // namespace semel::telemetry
