#include "cli/line/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace semel::cli {
namespace {
constexpr auto kShowEvery = std::chrono::milliseconds(100);
constexpr std::uint64_t kBarColumns = 30;
}  // namespace

Progress::Progress(std::string what, std::uint64_t total)
    : what_(std::move(what)), total_(total), is_shown_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (is_shown_ && done_ > 0) fmt::print(stderr, "\r\x1b[K");
}

void Progress::add(std::uint64_t count) {
  done_ += count;
  if (!is_shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kShowEvery;
  show();
}

void Progress::show() const {
  if (total_ == 0) {
    fmt::print(stderr, "\r{} {}\x1b[K", done_, what_);
    return;
  }
  const std::uint64_t full = std::min(kBarColumns, kBarColumns * done_ / total_);
  fmt::print(stderr, "\r[{:#<{}}{:{}}] {} of {} {}\x1b[K", "", full, "", kBarColumns - full, done_,
             total_, what_);
}

}  // namespace semel::cli
