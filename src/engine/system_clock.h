#pragma once

#include <cstdint>
#include <string_view>

#include "semel/driver/clock.h"

// The only place that asks the machine for the time.
namespace semel::engine {

class SystemClock final : public Clock {
 public:
  Time now() const override;
  SteadyTime steady() const override;
  SteadyTime since_boot() const override;
  boost::asio::awaitable<void> sleep(Duration duration) override;
};

// Returns nanoseconds since 1970 UTC, for the spans of traces.
std::int64_t wall_nanoseconds();

// Hashes the random bytes with the record and the time: if the kernel is not told that its machine
// was restored from a snapshot, it may give the same bytes again.
Token mix_token(std::string_view fresh, const RecordId& id, std::int64_t wall, std::int64_t steady);

class SystemTokens final : public TokenSource {
 public:
  Token next() override;
  Token next_for(const RecordId& id) override;
};

}  // namespace semel::engine
