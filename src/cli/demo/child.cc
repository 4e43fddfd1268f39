#include "cli/demo/child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

namespace semel::cli {

Child::Child(const std::vector<std::string>& arguments, const std::string& log_file) {
  std::vector<const char*> argv = {"semel"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot create a pipe");
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot start a process");
  if (pid_ == 0) {
    const int log = open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);  // signals the parent waits for reach the child
    dup2(ends[1], STDOUT_FILENO);
    if (log >= 0) dup2(log, STDERR_FILENO);
    execv("/proc/self/exe", const_cast<char* const*>(argv.data()));
    _exit(127);
  }
  close(ends[1]);
  output_ = ends[0];
}

Child::~Child() {
  if (pid_ > 0) {
    signal(SIGKILL);
    wait();
  }
  close(output_);
}

std::string Child::read_line() {
  for (;;) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    char bytes[512];
    const ssize_t n = read(output_, bytes, sizeof bytes);
    if (n <= 0) return {};
    unread_.append(bytes, static_cast<std::size_t>(n));
  }
}

void Child::signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

void Child::wait() {
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace semel::cli
