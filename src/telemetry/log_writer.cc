#include "telemetry/log_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

namespace semel::telemetry {
namespace {

// Half of the time within which lines are written: the rest is for the write itself.
constexpr auto kGroupedFor = kLogWrittenWithin / 2;
// A reader that takes nothing for so long is not waited for at the end.
constexpr auto kFlushPatience = std::chrono::seconds(1);
constexpr mode_t kFileMode = 0640;

int open_file(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kFileMode);
}

void wait_for(sem_t& semaphore, std::chrono::nanoseconds time) {
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  const auto nanoseconds = until.tv_nsec + time.count();
  until.tv_sec += nanoseconds / std::nano::den;
  until.tv_nsec = nanoseconds % std::nano::den;
  ::sem_timedwait(&semaphore, &until);
}

}  // namespace

std::expected<std::shared_ptr<LogWriter>, std::string> LogWriter::open(const std::string& path,
                                                                       DroppedLine dropped_line) {
  const int fd = path.empty() ? STDERR_FILENO : open_file(path);
  if (fd < 0) {
    return std::unexpected(
        fmt::format("log.file: {} cannot be opened: {}", path, std::strerror(errno)));
  }
  return std::shared_ptr<LogWriter>(new LogWriter(path, fd, std::move(dropped_line)));
}

LogWriter::LogWriter(std::string path, int fd, DroppedLine dropped_line)
    : path_(std::move(path)), dropped_line_(std::move(dropped_line)), fd_(fd) {
  ::sem_init(&wake_, 0, 0);
  thread_ = std::thread([this] { run(); });
}

LogWriter::~LogWriter() {
  flush();
  ending_ = true;
  ::sem_post(&wake_);
  thread_.join();
  ::sem_destroy(&wake_);
  if (!path_.empty()) ::close(fd_);
}

void LogWriter::append_locked(std::string_view line) {
  if (pending_.size() + line.size() > kLogPendingBytesMax) {
    ++dropped_;
    return;
  }
  if (pending_.empty()) ::sem_post(&wake_);
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
  std::string lines;
  if (!can_write_at_once(pending_.size()) || !take(lock, lines)) return;
  write(lock, std::move(lines));
}

void LogWriter::flush() {
  std::unique_lock lock(mutex_);
  const std::uint64_t until = appended_bytes_;
  ::sem_post(&wake_);
  written_.wait_for(lock, kFlushPatience, [&] { return written_bytes_ >= until; });
}

void LogWriter::reopen() {
  reopen_ = true;
  ::sem_post(&wake_);
}

bool LogWriter::take(std::unique_lock<std::mutex>& lock, std::string& lines) {
  if (is_writing_) return false;
  is_writing_ = true;
  lines.swap(pending_);
  const std::uint64_t dropped = std::exchange(dropped_, 0);
  if (dropped == 0) return true;
  lock.unlock();
  const std::string line = dropped_line_(dropped);
  lock.lock();
  lines += line;
  appended_bytes_ += line.size();
  return true;
}

void LogWriter::write(std::unique_lock<std::mutex>& lock, std::string lines) {
  lock.unlock();
  if (reopen_.exchange(false)) open_anew();
  std::string_view rest = lines;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;  // nobody listens, or the disk is full: that must not stop the program
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  lock.lock();
  is_writing_ = false;
  written_bytes_ += lines.size();
  written_.notify_all();
}

void LogWriter::run() {
  std::string lines;
  while (!ending_) {
    ::sem_wait(&wake_);
    if (!ending_ && !reopen_) wait_for(wake_, kGroupedFor);
    std::unique_lock lock(mutex_);
    written_.wait(lock, [this] { return !is_writing_; });
    take(lock, lines);
    write(lock, std::exchange(lines, {}));
  }
}

void LogWriter::open_anew() {
  if (path_.empty()) return;
  const int fd = open_file(path_);
  if (fd < 0) return;
  ::dup3(fd, fd_, O_CLOEXEC);
  ::close(fd);
}

// A pipe or a terminal that is ready takes this much; a file always does, and a socket says too
// little about itself.
bool LogWriter::can_write_at_once(std::size_t bytes) const {
  struct stat about{};
  if (::fstat(fd_, &about) != 0) return false;
  if (S_ISREG(about.st_mode)) return true;
  if (bytes > PIPE_BUF || !(S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode))) return false;
  pollfd ready{fd_, POLLOUT, 0};
  return ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
}

}  // namespace semel::telemetry
