#include "cli/once/command_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "cli/commands.h"

extern char** environ;

namespace semel::cli {
namespace {

constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// For the signal handler.
std::atomic<pid_t> running_command = 0;
std::atomic<bool> was_interrupted = false;

// Passes signals on to the command while it lives.
class SignalPassing {
 public:
  SignalPassing() {
    struct sigaction action{};
    action.sa_handler = [](int signal) {
      was_interrupted = true;
      if (running_command > 0) ::kill(running_command, signal);
    };
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < kPassedOn.size(); ++i) {
      ::sigaction(kPassedOn[i], &action, &before_[i]);
    }
  }
  ~SignalPassing() {
    for (std::size_t i = 0; i < kPassedOn.size(); ++i) {
      ::sigaction(kPassedOn[i], &before_[i], nullptr);
    }
  }
  SignalPassing(const SignalPassing&) = delete;
  SignalPassing& operator=(const SignalPassing&) = delete;

 private:
  std::array<struct sigaction, kPassedOn.size()> before_;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// In the child, between fork and exec: calls only what may be called there.
[[noreturn]] void become(char* const* argv, char* const* variables, Pipe& out, Pipe& err,
                         Pipe& failed, pid_t parent) {
  ::umask(inherited_umask);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // it has died before this
  struct sigaction by_default{};
  by_default.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1}) {
    ::sigaction(signal, &by_default, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(out.ends[1], STDOUT_FILENO);
  ::dup2(err.ends[1], STDERR_FILENO);
  ::execvpe(argv[0], argv, variables);
  const int why = errno;
  static_cast<void>(!::write(failed.ends[1], &why, sizeof why));
  ::_exit(127);
}

void show(int to, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(to, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody reads it; it is kept all the same
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
}

void keep(KeptOutput& kept, const char* bytes, std::size_t size, std::size_t kept_max) {
  const std::size_t room = std::min(size, kept_max - kept.bytes.size());
  kept.bytes.append(bytes, room);
  kept.dropped += size - room;
}

// Shows and keeps the output until both streams have ended.
void pump(Pipe& out, Pipe& err, CommandRun& run, std::size_t kept_max) {
  struct Stream {
    Pipe& pipe;
    int to;
    KeptOutput& kept;
  };
  Stream streams[] = {{out, STDOUT_FILENO, run.out}, {err, STDERR_FILENO, run.err}};
  std::vector<char> buffer(std::size_t{64} << 10);
  for (;;) {
    pollfd waiting[] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};  // -1: not waited for
    if (out.ends[0] < 0 && err.ends[0] < 0) return;
    if (::poll(waiting, 2, -1) < 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (waiting[i].revents == 0) continue;
      const ssize_t n = ::read(streams[i].pipe.ends[0], buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        streams[i].pipe.close_end(0);
        continue;
      }
      show(streams[i].to, buffer.data(), static_cast<std::size_t>(n));
      keep(streams[i].kept, buffer.data(), static_cast<std::size_t>(n), kept_max);
    }
  }
}

void await_end(pid_t command, CommandRun& run) {
  int status = 0;
  while (::waitpid(command, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) run.signal = WTERMSIG(status);
}

}  // namespace

Pipe::Pipe() {
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot create a pipe");
  }
}

Pipe::~Pipe() {
  close_end(0);
  close_end(1);
}

void Pipe::close_end(int which) {
  if (ends[which] >= 0) ::close(ends[which]);
  ends[which] = -1;
}

CommandRun run_command(const std::vector<std::string>& command,
                       const std::vector<std::string>& variables, CommandPipes& pipes,
                       std::size_t kept_max) {
  std::vector<std::string> arguments = command;
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  environment.insert(environment.end(), variables.begin(), variables.end());
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  auto& [out, err, failed] = pipes;
  CommandRun run;
  const SignalPassing passing;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become(argv.data(), envp.data(), out, err, failed, parent);
  if (child < 0) {
    run.not_started = errno;
    return run;
  }
  running_command = child;
  for (Pipe* pipe : {&out, &err, &failed}) pipe->close_end(1);
  // Nothing comes: it has begun.
  if (::read(failed.ends[0], &run.not_started, sizeof run.not_started) <= 0) run.not_started = 0;
  pump(out, err, run, kept_max);
  await_end(child, run);
  running_command = 0;
  run.interrupted = was_interrupted;
  return run;
}

}  // namespace semel::cli
