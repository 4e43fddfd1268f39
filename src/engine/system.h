#pragma once

#include "semel/clock.h"

// The only place that asks the machine for the time or for randomness.
namespace semel {

class SystemClock final : public Clock {
 public:
  Time now() const override;
  boost::asio::awaitable<void> sleep(Duration duration) override;
};

class SystemTokens final : public TokenSource {
 public:
  Token next() override;
};

// For the id of a run.
std::uint64_t random_number();

}  // namespace semel
