#include "consume/message_metrics.h"

namespace semel::consume {

MessageMetrics::MessageMetrics(telemetry::Metrics& metrics, const std::string& operation) {
  constexpr std::array kEnds = {"acknowledged", "dead-letter", "returned", "lost"};
  auto& ends = prometheus::BuildCounter()
                   .Name("semel_messages_total")
                   .Help("Messages by result")
                   .Register(metrics.registry());
  for (std::size_t i = 0; i < kEnds.size(); ++i) {
    ends_[i] = &ends.Add({{"operation", operation}, {"result", kEnds[i]}});
  }
  held_ = &prometheus::BuildGauge()
               .Name("semel_messages_held")
               .Help("Messages that were delivered and are not settled yet")
               .Register(metrics.registry())
               .Add({{"operation", operation}});
}

}  // namespace semel::consume
