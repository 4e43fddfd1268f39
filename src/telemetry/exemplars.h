#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "semel/time.h"

namespace semel::telemetry {

// A traced request among those that a counter or a bucket has counted.
struct Exemplar {
  std::string trace_id;
  double value = 1;
  Time at{};
};

// The latest exemplar of each series, by the series' name and labels as they are rendered.
// Thread-safe. Sampled requests alone come here, so one lock will do.
class Exemplars {
 public:
  void put(std::string series, Exemplar exemplar) {
    const std::lock_guard lock(mutex_);
    latest_.insert_or_assign(std::move(series), std::move(exemplar));
  }
  std::optional<Exemplar> find(const std::string& series) const {
    const std::lock_guard lock(mutex_);
    const auto found = latest_.find(series);
    if (found == latest_.end()) return std::nullopt;
    return found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Exemplar> latest_;
};

}  // namespace semel::telemetry
