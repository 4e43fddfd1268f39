// The lines that the engine's events leave in the log.
#include "server/engine_observer.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

namespace semel::server {
namespace {

// Collects what is logged while it lives.
class Logged {
 public:
  Logged() {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_)));
  }
  ~Logged() { spdlog::set_default_logger(before_); }
  std::size_t lines() const {
    const std::string text = lines_.str();
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }

 private:
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::ostringstream lines_;
};

// With `scope: path` a route has as many operations as it has paths.
TEST(EngineObserver, LinesAboutWaitingWorkAreRareWhateverThePaths) {
  telemetry::Metrics metrics;
  runtime::TenantLimits limits;
  LoggingObserver observer(metrics, limits, config::LogKeys{});
  const Logged logged;
  for (int n = 0; n < 10; ++n) {
    Record record;
    record.operation = "charges\t/charges/" + std::to_string(n);
    observer.left_to_others(record);
  }
  EXPECT_EQ(logged.lines(), 1);
}

}  // namespace
}  // namespace semel::server
