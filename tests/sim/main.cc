// sim_tests            runs all seeds
// sim_tests --seed=N   replays one and prints what happened; --plant=NAME with one of the planted
// bugs
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "sim/replay.h"
#include "sim/world.h"

namespace semel::sim {
namespace {

Plant plant_called(std::string_view wanted) {
  for (const auto& [plant, name] : kPlants) {
    if (name == wanted) return plant;
  }
  fmt::print(stderr, "no planted bug is called {}\n", wanted);
  std::exit(EXIT_FAILURE);
}

int replay(std::uint64_t seed, Plant plant) {
  fmt::print("seed {}: {}\n", seed, replay_command(seed, plant));
  const Report report = run_seed(seed, plant, true);
  for (const auto& line : report.trace) fmt::print("{}\n", line);
  for (const auto& violation : report.violations) fmt::print("VIOLATION {}\n", violation);
  return report.violations.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

}  // namespace semel::sim

int main(int argc, char** argv) {
  using namespace semel::sim;
  std::optional<std::uint64_t> seed;
  Plant plant = Plant::none;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    constexpr std::string_view kSeed = "--seed=";
    constexpr std::string_view kPlant = "--plant=";
    if (argument.starts_with(kSeed)) {
      seed = std::strtoull(argument.substr(kSeed.size()).data(), nullptr, 10);
    } else if (argument.starts_with(kPlant)) {
      plant = plant_called(argument.substr(kPlant.size()));
    }
  }
  if (seed) return replay(*seed, plant);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
