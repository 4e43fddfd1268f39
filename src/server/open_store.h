#pragma once

#include <expected>
#include <memory>
#include <string>

#include "config/config.h"
#include "semel/store.h"
#include "telemetry/metrics.h"

namespace semel {

// Opens the configured store. `metrics` counts its commits, and its troubles are logged. The error
// is a sentence.
std::expected<std::unique_ptr<Store>, std::string> open_store_for(const Config& config,
                                                                  Metrics& metrics);

}  // namespace semel
