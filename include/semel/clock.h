#pragma once

#include <boost/asio/awaitable.hpp>

#include "semel/record.h"
#include "semel/time.h"

namespace semel {

// The only source of time. The simulator supplies its own.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
  // Resumes on the caller's executor after `duration`.
  virtual boost::asio::awaitable<void> sleep(Duration duration) = 0;
};

// The only source of randomness in the engine. Thread-safe.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual Token next() = 0;
};

}  // namespace semel
