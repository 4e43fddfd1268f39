#include "server/engine_observer.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "telemetry/log.h"

namespace semel::server {
namespace {

namespace fs = std::filesystem;

// Logs to a file of its own.
class Logged {
 public:
  Logged() {
    std::string name = (fs::temp_directory_path() / "semel-log-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    EXPECT_TRUE(telemetry::start_logging({.file = (folder_ / "log").string()}));
  }
  ~Logged() { fs::remove_all(folder_); }
  std::string text() const {
    telemetry::flush_log();
    std::ifstream file(folder_ / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t lines() const { return std::ranges::count(text(), '\n'); }

 private:
  fs::path folder_;
};

// With `scope: path` a route has as many operations as it has paths.
TEST(EngineObserver, LinesAboutWaitingWorkAreRareWhateverThePaths) {
  telemetry::Metrics metrics;
  runtime::TenantLimits limits;
  LoggingObserver observer(metrics, limits, config::LogConfig{});
  const Logged logged;
  for (int n = 0; n < 10; ++n) {
    Record record;
    record.operation = "charges\t/charges/" + std::to_string(n);
    observer.left_to_others(record);
  }
  EXPECT_EQ(logged.lines(), 1);
}

// Whoever is alerted sees at once what may have happened; of other changes nobody needs it.
TEST(EngineObserver, SaysWhichRequestBecameUnknown) {
  telemetry::Metrics metrics;
  runtime::TenantLimits limits;
  LoggingObserver observer(metrics, limits, config::LogConfig{});
  const Logged logged;
  Record record;
  record.description = {"POST", "/v1/charges", {{"/amount", "4200"}}};
  observer.transitioned(nullptr, &record, Time{});
  EXPECT_FALSE(logged.text().contains("/v1/charges"));
  Record lost = record;
  lost.state = RecordState::unknown;
  observer.transitioned(&record, &lost, Time{});
  EXPECT_TRUE(logged.text().contains("to=unknown"));
  EXPECT_TRUE(logged.text().contains("method=POST path=/v1/charges")) << logged.text();
  EXPECT_FALSE(logged.text().contains("4200"));
}

}  // namespace
}  // namespace semel::server
