#include <algorithm>

#include "semel/client.h"

namespace semel {

RetryBudget::RetryBudget(int tokens) : max_(tokens), left_(tokens) {}

bool RetryBudget::take(int tokens) noexcept {
  int left = left_;
  while (left >= tokens) {
    if (left_.compare_exchange_weak(left, left - tokens)) return true;
  }
  return false;
}

void RetryBudget::give_back(int tokens) noexcept {
  int left = left_;
  while (!left_.compare_exchange_weak(left, std::min(left + tokens, max_))) {
  }
}

int RetryBudget::left() const noexcept {
  return left_;
}

}  // namespace semel
