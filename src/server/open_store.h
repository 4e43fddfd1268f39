#pragma once

#include <expected>
#include <memory>
#include <string>

#include "config/config.h"
#include "semel/driver/store.h"
#include "telemetry/metrics.h"

namespace semel::server {

// Opens the configured store. `metrics` counts its commits, and its troubles are logged. The error
// is a sentence.
std::expected<std::unique_ptr<Store>, std::string> open_store_for(const config::Config& config,
                                                                  telemetry::Metrics& metrics);

}  // namespace semel::server
