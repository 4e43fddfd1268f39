#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "semel/driver/store.h"

namespace semel::sim {

// Bugs that other tools had, put between the engine and its store to see whether the simulator
// finds them.
enum class Plant {
  none,
  no_fence,              // whatever claim a node finds, it takes for its own
  unknown_is_success,    // a write of unknown fate counts as done
  takeover_without_cas,  // a record is taken over whatever became of it since it was read
  renewals_lost,         // a renewed lease is not written
  nothing_due,           // the sweeper is shown nothing
  start_without_cas,     // queued work is begun whoever has begun it since it was read
  found_is_durable,      // a write of unknown fate that is found in the store counts as done
  queued_forgotten,      // queued work is not found again after a restart
  release_is_unknown,    // an attempt that had no effect is recorded as unknown
};

struct PlantName {
  Plant plant;
  std::string_view name;
};
inline constexpr std::array kPlants = {
    PlantName{Plant::no_fence, "no_fence"},
    PlantName{Plant::unknown_is_success, "unknown_is_success"},
    PlantName{Plant::takeover_without_cas, "takeover_without_cas"},
    PlantName{Plant::renewals_lost, "renewals_lost"},
    PlantName{Plant::nothing_due, "nothing_due"},
    PlantName{Plant::start_without_cas, "start_without_cas"},
    PlantName{Plant::found_is_durable, "found_is_durable"},
    PlantName{Plant::queued_forgotten, "queued_forgotten"},
    PlantName{Plant::release_is_unknown, "release_is_unknown"},
};

// `inner` itself for Plant::none.
std::unique_ptr<Store> make_planted(Plant plant, std::unique_ptr<Store> inner);

}  // namespace semel::sim
