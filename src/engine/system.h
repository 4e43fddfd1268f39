#pragma once

#include <cstddef>
#include <cstdint>

#include "semel/clock.h"

// The only place that asks the machine for the time or for randomness.
namespace semel {

class SystemClock final : public Clock {
 public:
  Time now() const override;
  SteadyTime steady() const override;
  SteadyTime since_boot() const override;
  boost::asio::awaitable<void> sleep(Duration duration) override;
};

class SystemTokens final : public TokenSource {
 public:
  Token next() override;
  Token next_for(const RecordId& id) override;
};

// Fills in bytes that nobody can guess, for nonces and the like. Throws std::runtime_error if the
// system has none to give.
void fill_random(void* bytes, std::size_t size);

// Returns a random number for the id of a run.
std::uint64_t random_number();

}  // namespace semel
