#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "semel/time.h"

namespace semel::sim {

// The events of a run, line by line, for replaying a seed. Costs nothing when it is off.
class Trace {
 public:
  explicit Trace(bool on) : on_(on) {}
  template <typename MakeText>
  void line(Time at, MakeText make_text) {
    if (on_) lines_.push_back(stamp(at) + make_text());
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  static std::string stamp(Time at) {
    char text[32];
    std::snprintf(text, sizeof text, "%9.3f  ",
                  static_cast<double>(at.time_since_epoch().count() % 1'000'000) / 1000);
    return text;
  }

  bool on_;
  std::vector<std::string> lines_;
};

// How often each interesting thing happened: a simulator that never gets there proves nothing.
class Tally {
 public:
  void count(std::string_view what) {
    const auto found = counts_.find(what);
    if (found == counts_.end()) {
      counts_.emplace(what, 1);
    } else {
      ++found->second;
    }
  }
  void add(const Tally& other) {
    for (const auto& [what, times] : other.counts_) counts_[what] += times;
  }
  const std::map<std::string, int, std::less<>>& counts() const { return counts_; }

 private:
  std::map<std::string, int, std::less<>> counts_;
};

}  // namespace semel::sim
