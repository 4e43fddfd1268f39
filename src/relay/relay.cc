#include "relay/relay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <thread>

#include "base/random.h"
#include "engine/system_clock.h"
#include "relay/courier.h"
#include "relay/deliveries.h"
#include "telemetry/log.h"
#include "telemetry/notifier.h"

namespace semel::relay {
namespace {

constexpr Duration kNotifyAtEnd = std::chrono::seconds(2);

std::string name_of_this_run() {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return fmt::format("{} {} {:016x}", host, getpid(), base::random_number());
}

}  // namespace

std::expected<bool, std::string> run_relay(const RelayOptions& options,
                                           const std::function<void()>& ready) {
  boost::asio::io_context context{1};
  const engine::SystemClock clock;
  Courier courier(options.url, options.schema, options.config, options.drain_timeout,
                  name_of_this_run());
  if (auto opened = courier.open(); !opened) return std::unexpected(std::move(opened.error()));
  telemetry::Metrics metrics;  // a relay shows none
  std::unique_ptr<telemetry::Notifier> notifier;
  if (options.notify) {
    auto started = telemetry::Notifier::start(*options.notify, options.log_keys, metrics);
    if (!started) return std::unexpected(std::move(started.error()));
    notifier = *std::move(started);
    notifier->use_hash_key(options.hash_key ? &*options.hash_key : nullptr);
  }
  Deliveries deliveries(
      context, options.config, clock,
      [&courier](Report report) { courier.report(std::move(report)); }, notifier.get());
  if (auto opened = deliveries.open(); !opened) return std::unexpected(std::move(opened.error()));
  boost::asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    telemetry::log_event(config::LogLevel::info, "draining", {});
    courier.stop();
  });
  ready();
  bool drained = false;
  std::thread thread([&] {
    drained = courier.run(deliveries);
    if (drained) {
      deliveries.close();
    } else {
      context.stop();
    }
  });
  context.run();
  thread.join();
  if (notifier) notifier->finish(kNotifyAtEnd);
  return drained;
}

}  // namespace semel::relay
