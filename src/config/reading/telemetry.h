#pragma once

#include "config/reading/reader.h"
#include "config/telemetry.h"

namespace semel::config::reading {

void read_tracing(const Field& field, TracingConfig& out);
void read_notify(const Field& field, NotifyConfig& out);

}  // namespace semel::config::reading
