#pragma once

#include <string>
#include <string_view>

#include "telemetry/metrics.h"

namespace semel::service {

// Counts the requests of the service API: semel_service_requests_total, by client, call and status.
// Thread-safe.
class ServiceMetrics {
 public:
  explicit ServiceMetrics(telemetry::Metrics& metrics);
  // `client` empty: nobody known.
  void count(std::string_view client, std::string_view call, int status);

 private:
  prometheus::Family<prometheus::Counter>& requests_;
};

}  // namespace semel::service
