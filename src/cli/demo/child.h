#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace semel::cli {

// Another process of this program. Killed when it goes out of scope.
class Child {
 public:
  // Runs this program with `arguments`; its log goes to `log_file`.
  Child(const std::vector<std::string>& arguments, const std::string& log_file);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns the next line of its standard output; empty when it has ended.
  std::string read_line();
  void signal(int number) const;
  // Returns when it has ended.
  void wait();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string unread_;
};

}  // namespace semel::cli
