#pragma once

#include <boost/json/object.hpp>

#include "runtime/active_config.h"
#include "telemetry/history.h"
#include "telemetry/recent_decisions.h"

// Shows what happens now, as JSON.
namespace semel::admin {

boost::json::object point_json(const telemetry::HistoryPoint& point);
// Shows key and tenant as the log does.
boost::json::object decision_json(const telemetry::RecentDecision& decision,
                                  const runtime::ActiveConfig& settings);

}  // namespace semel::admin
