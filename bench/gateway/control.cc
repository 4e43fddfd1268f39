// The control of bench/gateway: the same gateway, whose store keeps records in memory and makes
// each write durable by a bare append and fdatasync. What the embedded store costs beyond this is
// its own.
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "admin/admin.h"
#include "config/parse.h"
#include "core/codec.h"
#include "server/server.h"
#include "stores/forwarding_store.h"
#include "stores/memory_store.h"
#include "synced_log.h"

namespace {

class LoggedMemoryStore final : public semel::stores::ForwardingStore {
 public:
  explicit LoggedMemoryStore(const std::string& file)
      : ForwardingStore(std::make_unique<semel::stores::MemoryStore>()), log_(file) {}

  boost::asio::awaitable<semel::SwapResult> swap(semel::RecordId id, semel::Version expected,
                                                 std::shared_ptr<semel::Record> next) override {
    std::string bytes = next ? semel::encode(*next) : std::string();
    semel::SwapResult result = co_await inner().swap(id, expected, std::move(next));
    if (std::holds_alternative<semel::swap::Applied>(result)) co_await log_.append(bytes);
    co_return result;
  }

 private:
  semel::bench::SyncedLog log_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_control CONFIG LOG_FILE\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::ifstream in(argv[1]);
  std::stringstream text;
  text << in.rdbuf();
  auto outcome = semel::config::parse_config(text.str(), argv[1], {});
  if (!outcome.config) return 2;
  semel::telemetry::start_logging(outcome.config->log);
  auto metrics = std::make_unique<semel::telemetry::Metrics>();
  auto server = semel::server::Server::start(std::move(*outcome.config), std::move(metrics),
                                             std::make_unique<LoggedMemoryStore>(argv[2]),
                                             semel::server::Listeners());
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().c_str());
    return 1;
  }
  boost::asio::signal_set signals((*server)->context(), SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (!error) (*server)->drain();
  });
  std::printf("listening http 127.0.0.1:%u\nready\n", (*server)->listening().front().port);
  std::fflush(stdout);
  (*server)->run();
  return 0;
}
