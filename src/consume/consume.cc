#include "semel/consume.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "config/error.h"
#include "config/parse.h"
#include "config/read_file.h"
#include "config/reading/values.h"
#include "consume/function_handler.h"
#include "consume/process.h"

namespace semel::consume {
namespace {

// Makes writing to a closed connection, or to a file that may not grow, an error of that write,
// unless the program has said otherwise.
void ignore_unless_handled(int signal) {
  struct sigaction now = {};
  if (sigaction(signal, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL) std::signal(signal, SIG_IGN);
}

bool is_empty(const Entry& entry) {
  return std::visit([](const auto& function) { return !function; }, entry.handler);
}

// Returns why the functions do not fit the file. Leaves in `config` only the entries that have a
// function.
std::string fit(config::Config& config, const std::string& file,
                const std::vector<Entry>& entries) {
  std::string wrong;
  const auto complain = [&](std::string line) {
    wrong += (wrong.empty() ? "" : "\n") + std::move(line);
  };
  if (entries.empty()) complain("no function was given; name the entries of consume to run");
  std::vector<config::ConsumeConfig> kept;
  for (const Entry& entry : entries) {
    const auto is_it = [&](const config::ConsumeConfig& c) { return c.route.name == entry.name; };
    const auto found = std::ranges::find_if(config.consume, is_it);
    if (found == config.consume.end()) {
      complain(fmt::format("{}: there is no '{}' under consume", file, entry.name));
    } else if (!found->is_for_function()) {
      complain(
          fmt::format("{}:{}: consume '{}' has a `to`, for `semel consume`; leave it out for a "
                      "function",
                      file, found->route.line, entry.name));
    } else if (std::ranges::any_of(kept, is_it)) {
      complain(fmt::format("'{}' was given two functions", entry.name));
    } else if (is_empty(entry)) {
      complain(fmt::format("'{}' was given an empty function", entry.name));
    } else if (entry.threads == 0) {
      complain(fmt::format("'{}' was given no threads; at least one is needed", entry.name));
    } else {
      kept.push_back(*found);
      if (std::holds_alternative<Handler>(entry.handler)) {
        kept.back().in_flight = std::min(kept.back().in_flight, entry.threads);
      }
    }
  }
  config.consume = std::move(kept);
  return wrong;
}

AsyncHandler function_of(Entry& entry, std::size_t in_flight) {
  if (auto* blocking = std::get_if<Handler>(&entry.handler)) {
    return on_threads(std::move(*blocking), in_flight);
  }
  return std::get<AsyncHandler>(std::move(entry.handler));
}

}  // namespace

class Consumer::Impl {
 public:
  explicit Impl(std::unique_ptr<ConsumeProcess> process_in) : process(std::move(process_in)) {}
  const std::unique_ptr<ConsumeProcess> process;
};

Consumer::Consumer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Consumer::Consumer(Consumer&&) noexcept = default;
Consumer& Consumer::operator=(Consumer&&) noexcept = default;
Consumer::~Consumer() = default;

std::expected<Consumer, std::string> Consumer::open(const Options& options,
                                                    std::vector<Entry> entries) {
  config::ConfigOutcome outcome = config::read_config(options.file);
  if (!outcome.config) {
    std::string wrong;
    for (const config::ConfigError& error : outcome.errors) {
      wrong += (wrong.empty() ? "" : "\n") + config::to_string(error);
    }
    return std::unexpected(std::move(wrong));
  }
  config::Config& config = *outcome.config;
  if (std::string wrong = fit(config, options.file, entries); !wrong.empty()) {
    return std::unexpected(std::move(wrong));
  }
  if (!options.admin.empty()) {
    auto address = config::reading::parse_listen(options.admin);
    if (!address) return std::unexpected("admin '" + options.admin + "' " + address.error());
    config.admin.listen = *std::move(address);
  }
  if (auto started = telemetry::start_logging(config.log); !started) {
    return std::unexpected(std::move(started.error()));
  }
  for (const config::ConfigError& warning : outcome.warnings) {
    telemetry::log_event(config::LogLevel::warn, "configuration",
                         {{"why", config::to_string(warning)}});
  }
  ignore_unless_handled(SIGPIPE);
  ignore_unless_handled(SIGXFSZ);
  // fit() has put the routes in the order of the entries.
  const auto make = [&entries](runtime::Worker& worker, const runtime::Route& route,
                               const config::ConsumeConfig& entry) {
    return std::make_unique<FunctionHandler>(worker, route, entry,
                                             function_of(entries[route.index()], entry.in_flight));
  };
  auto process = ConsumeProcess::open(std::move(config), make);
  if (!process) return std::unexpected(std::move(process.error()));
  return Consumer(std::make_unique<Impl>(*std::move(process)));
}

std::string Consumer::admin() const {
  const config::HostPort at = impl_->process->admin();
  const bool is_v6 = at.host.contains(':');
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", at.host, is_v6 ? "]" : "", at.port);
}

void Consumer::run() {
  impl_->process->run();
}

void Consumer::stop() {
  impl_->process->drain();
}

}  // namespace semel::consume
