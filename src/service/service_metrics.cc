#include "service/service_metrics.h"

namespace semel::service {

ServiceMetrics::ServiceMetrics(telemetry::Metrics& metrics)
    : requests_(prometheus::BuildCounter()
                    .Name("semel_service_requests_total")
                    .Help("Requests to the service API by client, call and status")
                    .Register(metrics.registry())) {}

void ServiceMetrics::count(std::string_view client, std::string_view call, int status) {
  requests_
      .Add({{"client", std::string(client)},
            {"call", std::string(call)},
            {"status", std::to_string(status)}})
      .Increment();
}

}  // namespace semel::service
