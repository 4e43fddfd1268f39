#include "check/counter.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/json/parse.hpp>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "base/text.h"

namespace semel::check {
namespace {

std::optional<long> leading_number(std::string_view text) {
  text = base::trim_line(text);
  long number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  return number;
}

std::optional<long> number_at(std::string_view body, std::string_view pointer) {
  boost::system::error_code error;
  const boost::json::value document = boost::json::parse(body, error);
  if (error) return std::nullopt;
  const boost::json::value* found = document.find_pointer(pointer, error);
  if (found == nullptr) return std::nullopt;
  if (found->is_array()) return static_cast<long>(found->as_array().size());
  const long number = found->to_number<long>(error);
  return error ? std::nullopt : std::optional(number);
}

}  // namespace

std::expected<std::string, std::string> run_command(const std::string& command,
                                                    const std::string& name,
                                                    const std::string& value) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::unexpected("no pipe");
  const pid_t child = fork();
  if (child < 0) return std::unexpected("no process");
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    if (!name.empty()) setenv(name.c_str(), value.c_str(), 1);
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  ::close(ends[1]);
  std::string out;
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t got = ::read(ends[0], bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    out.append(bytes.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return out;
  return std::unexpected(fmt::format("the command '{}' failed with code {}", command,
                                     WIFEXITED(status) ? WEXITSTATUS(status) : 128));
}

std::expected<long, std::string> Counter::read() {
  if (!options_.count_command.empty()) {
    const auto printed = run_command(options_.count_command, "", "");
    if (!printed) return std::unexpected(printed.error());
    if (const auto number = leading_number(*printed)) return *number;
    return std::unexpected("--count-cmd printed no number");
  }
  const std::size_t hash = options_.count_url.find('#');
  const auto target = parse_target(options_.count_url.substr(0, hash));
  if (!target) return std::unexpected("--count: the URL " + target.error());
  const Answer answer = client_.get(*target);
  if (!answer.ok()) return std::unexpected("--count: the URL got " + answer.shown());
  const auto number = hash == std::string::npos
                          ? leading_number(answer.body)
                          : number_at(answer.body, options_.count_url.substr(hash + 1));
  if (number) return *number;
  return std::unexpected("--count: there is no number; use URL#/pointer for one inside JSON");
}

}  // namespace semel::check
