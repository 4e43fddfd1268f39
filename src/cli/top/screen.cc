#include "cli/top/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace semel::cli {
namespace {

constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l";
constexpr const char* kLeave = "\x1b[?25h\x1b[?1049l";
constexpr const char* kHome = "\x1b[H";
constexpr const char* kToLineEnd = "\x1b[K";
constexpr const char* kToScreenEnd = "\x1b[J";

void write_now(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

bool Screen::is_possible() {
  return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
}

Screen::Screen() {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaddset(&watched, signal);
  pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  signals_ = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
  tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  write_now(kEnter);
}

Screen::~Screen() {
  write_now(kLeave);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  close(signals_);
}

FrameSize Screen::size() const {
  FrameSize out;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
    out = {size.ws_row, size.ws_col};
  }
  return out;
}

void Screen::show(const std::vector<std::string>& lines) {
  std::string out = kHome;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out += lines[i] + kToLineEnd;
    if (i + 1 < lines.size()) out += "\r\n";
  }
  write_now(out + kToScreenEnd);
}

std::optional<char> Screen::wait(std::chrono::milliseconds timeout) {
  pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {signals_, POLLIN, 0}};
  if (poll(watched, 2, static_cast<int>(timeout.count())) <= 0) return std::nullopt;
  if (watched[1].revents != 0) read_signals();
  if (watched[0].revents == 0) return std::nullopt;
  char key = 0;
  // The end of the input means that the terminal is gone.
  if (read(STDIN_FILENO, &key, 1) != 1) {
    ended_by_ = SIGHUP;
    return std::nullopt;
  }
  return key;
}

void Screen::read_signals() {
  signalfd_siginfo arrived{};
  while (read(signals_, &arrived, sizeof(arrived)) == sizeof(arrived)) {
    if (arrived.ssi_signo != SIGWINCH) ended_by_ = static_cast<int>(arrived.ssi_signo);
  }
}

}  // namespace semel::cli
