#pragma once

#include <cstdint>

#include "semel/driver/clock.h"

namespace semel::sim {

// SplitMix64: the same numbers everywhere, for ever. The library's distributions promise neither.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int below(int bound) { return static_cast<int>(next() % static_cast<std::uint64_t>(bound)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool chance(int per_thousand) { return below(1000) < per_thousand; }
  Duration ms(int low, int high) { return Duration(between(low, high)); }

 private:
  std::uint64_t state_;
};

class RandomTokens final : public TokenSource {
 public:
  explicit RandomTokens(std::uint64_t seed) : random_(seed) {}
  Token next() override {
    Token token;
    for (auto& byte : token.bytes) byte = static_cast<std::uint8_t>(random_.next());
    return token;
  }

 private:
  Random random_;
};

}  // namespace semel::sim
