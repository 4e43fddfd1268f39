#pragma once

#include <termios.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/top/frame.h"

namespace semel::cli {

// The terminal, while a program fills it: the other screen, without a cursor, keys read one by one.
// Everything is put back when this is destroyed; SIGINT, SIGTERM and SIGHUP end wait() for that
// purpose.
class Screen {
 public:
  // Standard input and output must be terminals.
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  static bool is_possible();
  FrameSize size() const;
  void show(const std::vector<std::string>& lines);

  // Waits for a key. nullopt: there was none, or the window has another size.
  std::optional<char> wait(std::chrono::milliseconds timeout);
  // A signal asked to end.
  bool is_ended() const { return ended_by_ != 0; }
  int ended_by() const { return ended_by_; }

 private:
  void read_signals();

  termios before_{};
  int signals_ = -1;
  int ended_by_ = 0;
};

}  // namespace semel::cli
