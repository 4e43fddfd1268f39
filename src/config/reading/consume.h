#pragma once

#include <vector>

#include "config/config.h"
#include "config/reading/reader.h"

// Reads `consume:`, the messages that `semel consume` takes from queues to handlers.
namespace semel::config::reading {

std::vector<ConsumeConfig> read_consume(const Field& list);

// Checks what only the whole file can tell.
void check_consume(const Field& list, const Config& config);

}  // namespace semel::config::reading
