#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace semel::cli {

// Beginning of a stream of the command's, as far as it is kept.
struct KeptOutput {
  std::string bytes;
  std::uint64_t dropped = 0;  // bytes beyond the limit, which were shown and not kept
};

// The end of a command.
struct CommandRun {
  int not_started = 0;  // errno; 0: it was started
  int exit_code = 0;
  int signal = 0;            // that killed it; 0: it has exited
  bool interrupted = false;  // a signal was passed on to it
  KeptOutput out;
  KeptOutput err;
};

struct Pipe {
  Pipe();  // throws std::system_error
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(int which);
  int ends[2] = {-1, -1};
};

// Everything that can be missing for a command, made before it is claimed.
struct CommandPipes {
  Pipe out;
  Pipe err;
  Pipe failed;  // says why it could not be started
};

// Runs the command, with these variables added to its environment. Shows its output while it runs,
// and keeps the first `kept_max` bytes of each stream. Signals that ask this process to end are
// passed on. If this process dies, the command gets SIGTERM.
CommandRun run_command(const std::vector<std::string>& command,
                       const std::vector<std::string>& variables, CommandPipes& pipes,
                       std::size_t kept_max);

}  // namespace semel::cli
