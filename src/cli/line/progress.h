#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace semel::cli {

// Counts on standard error, if that is a terminal: "12000 records read". The line is removed when
// the work ends.
class Progress {
 public:
  // `what` follows the number. With `total` the line has a bar.
  explicit Progress(std::string what, std::uint64_t total = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t count);

 private:
  void show() const;

  const std::string what_;
  const std::uint64_t total_;
  const bool is_shown_;
  std::uint64_t done_ = 0;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace semel::cli
