#pragma once

#include <cstddef>
#include <cstdint>

// The only place that asks the machine for randomness.
namespace semel::base {

// Fills in bytes that nobody can guess, for nonces and the like. Throws std::runtime_error if the
// system has none to give.
void fill_random(void* bytes, std::size_t size);

// Returns a number that nobody can guess, for the id of a run or to spread pauses.
std::uint64_t random_number();

}  // namespace semel::base
