#include "telemetry/log_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <utility>

namespace semel::telemetry {
namespace {

// Half of the time within which lines are written: the rest is for the write itself.
constexpr auto kGroupedFor = kLogWrittenWithin / 2;
// A reader that takes nothing for so long is not waited for at the end.
constexpr auto kFlushPatience = std::chrono::seconds(1);
constexpr mode_t kFileMode = 0600;

// A pipe without a reader is an error, rather than a wait for one.
int open_file(const std::string& path) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, kFileMode);
  if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

void wait_for(sem_t& semaphore, std::chrono::nanoseconds time) {
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  const auto nanoseconds = until.tv_nsec + time.count();
  until.tv_sec += nanoseconds / std::nano::den;
  until.tv_nsec = nanoseconds % std::nano::den;
  ::sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until);
}

}  // namespace

std::expected<std::unique_ptr<LogWriter>, std::string> LogWriter::open(const std::string& path,
                                                                       Notice notice) {
  const int fd = path.empty() ? STDERR_FILENO : open_file(path);
  if (fd < 0) {
    return std::unexpected(
        fmt::format("log.file: {} cannot be opened: {}", path, std::strerror(errno)));
  }
  return std::unique_ptr<LogWriter>(new LogWriter(path, fd, std::move(notice)));
}

LogWriter::LogWriter(std::string path, int fd, Notice notice)
    : path_(std::move(path)), notice_(std::move(notice)), fd_(fd) {
  ::sem_init(&wake_, 0, 0);
  thread_ = std::thread([this] { run(); });
}

LogWriter::~LogWriter() {
  ending_ = true;
  ::sem_post(&wake_);
  thread_.join();
  ::sem_destroy(&wake_);
  if (!path_.empty()) ::close(fd_);
}

void LogWriter::append_locked(std::string_view line) {
  if (pending_.empty()) ::sem_post(&wake_);
  if (pending_.size() + line.size() > kLogPendingBytesMax) {
    ++dropped_;
    return;
  }
  pending_ += line;
  appended_bytes_ += line.size();
}

void LogWriter::append(std::string_view line) {
  const std::lock_guard lock(mutex_);
  append_locked(line);
}

void LogWriter::append_urgent(std::string_view line) {
  std::unique_lock lock(mutex_);
  append_locked(line);
  if (is_writing_ || is_torn_ || !can_write_at_once(pending_.size())) {
    urgent_ = true;
    ::sem_post(&wake_);
    return;
  }
  const std::string lines = take();
  lock.unlock();
  const std::size_t bytes = write(lines, false);
  lock.lock();
  if (bytes < lines.size()) {  // somebody else has filled the pipe
    pending_.insert(0, lines.substr(bytes));
    ::sem_post(&wake_);
  }
  written(bytes);
}

void LogWriter::flush() {
  std::unique_lock lock(mutex_);
  const std::uint64_t until = appended_bytes_;
  urgent_ = true;
  ::sem_post(&wake_);
  written_.wait_for(lock, kFlushPatience, [&] { return written_bytes_ >= until; });
}

void LogWriter::reopen() {
  reopen_ = true;
  ::sem_post(&wake_);
}

std::string LogWriter::take() {
  is_writing_ = true;
  return std::exchange(pending_, {});
}

void LogWriter::written(std::size_t bytes) {
  is_writing_ = false;
  written_bytes_ += bytes;
  written_.notify_all();
}

std::size_t LogWriter::write(std::string_view lines, bool may_wait) {
  std::size_t bytes = 0;
  while (bytes < lines.size()) {
    const ssize_t n = ::write(fd_, lines.data() + bytes, lines.size() - bytes);
    if (n > 0) {
      bytes += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EAGAIN && may_wait) {
      pollfd ready{fd_, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (n == 0 || errno != EINTR) {
      break;
    }
  }
  return bytes;
}

// Drops what nobody takes, because the disk is full or the reader is gone: that must not stop the
// program.
void LogWriter::write_pending() {
  std::string own = reopen_.exchange(false) ? open_anew() : "";
  std::unique_lock lock(mutex_);
  written_.wait(lock, [this] { return !is_writing_; });
  const std::string lines = take();
  const std::uint64_t dropped = std::exchange(dropped_, 0);
  lock.unlock();
  if (is_torn_ && write("\n", true) == 1) is_torn_ = false;
  const std::size_t bytes = write(lines, true);
  if (dropped > 0) own += notice_("log lines dropped", "lines", std::to_string(dropped));
  const bool is_told = bytes == lines.size() && write(own, true) == own.size();
  lock.lock();
  const auto lost = std::string_view(lines).substr(bytes);
  dropped_ += static_cast<std::uint64_t>(std::ranges::count(lost, '\n'));
  if (!is_told) dropped_ += dropped;
  if (bytes > 0) is_torn_ = lines[bytes - 1] != '\n';
  written(lines.size());
}

void LogWriter::run() {
  while (!ending_) {
    ::sem_wait(&wake_);
    if (!ending_ && !reopen_ && !urgent_.exchange(false)) wait_for(wake_, kGroupedFor);
    write_pending();
  }
  write_pending();
}

std::string LogWriter::open_anew() {
  if (path_.empty()) return {};
  const int fd = open_file(path_);
  if (fd < 0) return notice_("log.file not opened anew", "why", std::strerror(errno));
  ::dup3(fd, fd_, O_CLOEXEC);
  ::close(fd);
  return {};
}

// A pipe or a terminal that is ready takes this much. A file may be on a disk that hangs, and a
// socket says too little about itself.
bool LogWriter::can_write_at_once(std::size_t bytes) const {
  struct stat about{};
  if (bytes > PIPE_BUF || ::fstat(fd_, &about) != 0) return false;
  if (!S_ISFIFO(about.st_mode) && !S_ISCHR(about.st_mode)) return false;
  pollfd ready{fd_, POLLOUT, 0};
  return ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
}

}  // namespace semel::telemetry
