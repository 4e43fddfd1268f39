#pragma once

#include <string>

#include "config/address.h"

namespace semel::config {

// Where spans go, and how many.
struct TracingConfig {
  Url otlp;  // with the path of the collector's traces
  // The share of traces begun here that is sampled, from 0 to 1. A trace that a client has begun is
  // sampled if the client says so.
  double sample = 0.1;
  bool operator==(const TracingConfig&) const = default;
};

// The receiver of events about unknown outcomes and dead letters.
struct NotifyConfig {
  Url url;
  std::string secret;  // the bytes that sign; never shown
  bool operator==(const NotifyConfig&) const = default;
};

}  // namespace semel::config
