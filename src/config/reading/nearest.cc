#include "config/reading/nearest.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace semel::config::reading {
namespace {

// Returns the least number of characters to insert, remove or replace.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replaced, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<const std::string_view> known_names) {
  constexpr std::size_t kGuessedLengthMax = 40;
  if (name.size() > kGuessedLengthMax) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view known : known_names) {
    const std::size_t distance = edit_distance(base::lower_case(name), known);
    if (distance < best_distance && distance < known.size()) {
      best = known;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace semel::config::reading
