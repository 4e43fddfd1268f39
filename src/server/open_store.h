#pragma once

#include <expected>
#include <memory>
#include <string>

#include "config/config.h"
#include "semel/store.h"
#include "telemetry/metrics.h"

namespace semel {

// The configured store, whose commits `metrics` counts and whose troubles are logged. The error is
// a sentence.
std::expected<std::unique_ptr<Store>, std::string> open_store_for(const Config& config,
                                                                  Metrics& metrics);

}  // namespace semel
