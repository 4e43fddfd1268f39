#pragma once

#include <cstddef>
#include <string>

#include "semel/driver/store.h"

namespace semel::stores {

// Counts the due records that a sweep found and could not read. They stay as they are: whoever
// reads one by its id gets the error.
class UnreadableRecords {
 public:
  void add(const StoreUnavailable& error) {
    if (count_++ == 0) first_ = error.why;
  }
  std::size_t count() const { return count_; }
  // Says how many there are, and what is wrong with the first one.
  std::string describe() const {
    return "due records that cannot be read and stay as they are: " + std::to_string(count_) +
           ", the first: " + first_;
  }

 private:
  std::size_t count_ = 0;
  std::string first_;
};

}  // namespace semel::stores
