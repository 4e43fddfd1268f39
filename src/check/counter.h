#pragma once

#include <expected>
#include <string>

#include "check/client.h"

namespace semel::check {

// Reads the number of effects that the service has had, from wherever the user says.
class Counter {
 public:
  Counter(const Options& options, Client& client) : options_(options), client_(client) {}

  bool given() const { return !options_.count_url.empty() || !options_.count_command.empty(); }
  // The error says why there is no number.
  std::expected<long, std::string> read();

 private:
  const Options& options_;
  Client& client_;
};

// Runs a command with the shell, with `name=value` in its environment unless `name` is "". Returns
// what it printed; the error says how it ended.
std::expected<std::string, std::string> run_command(const std::string& command,
                                                    const std::string& name,
                                                    const std::string& value);

}  // namespace semel::check
