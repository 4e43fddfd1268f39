#include <fmt/format.h>

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/load_config.h"
#include "cli/server_process.h"
#include "config/reading/values.h"
#include "consume/http_handler.h"
#include "consume/process.h"

namespace semel::cli {
namespace {

struct ConsumeOptions {
  std::string file;
  std::string only;
  std::string admin;
};

// Applies the options: leaves in the configuration only what is to be done. Returns why they cannot
// be followed, or nullopt.
std::optional<std::string> apply(const ConsumeOptions& options, config::Config& config) {
  if (!options.admin.empty()) {
    auto address = config::reading::parse_listen(options.admin);
    if (!address) return "--admin '" + options.admin + "' " + address.error();
    config.admin.listen = *std::move(address);
  }
  if (!options.only.empty()) {
    std::erase_if(config.consume,
                  [&](const config::ConsumeConfig& c) { return c.route.name != options.only; });
    if (config.consume.empty()) return "there is no '" + options.only + "' under consume";
  }
  if (config.consume.empty()) return options.file + ": consume: required; a list of queues";
  for (const config::ConsumeConfig& entry : config.consume) {
    if (!entry.is_for_function()) continue;
    return fmt::format(
        "{}:{}: consume '{}': to: required by `semel consume`, the handler's URL, like "
        "http://127.0.0.1:3000/handlers/payments; without it the entry is for a program with its "
        "own function (docs/library.md): use --only NAME to run another entry",
        options.file, entry.route.line, entry.route.name);
  }
  return std::nullopt;
}

int consume(const ConsumeOptions& options) {
  auto config = load_config(options.file);
  if (!config) return kExitUsage;
  if (const auto wrong = apply(options, *config)) {
    return complain(*wrong, kExitUsage);
  }
  if (auto started = telemetry::start_logging(config->log); !started) return fail(started.error());
  telemetry::reopen_log_at_signal();
  ignore_write_signals();

  const auto make_handler = [](runtime::Worker& worker, const runtime::Route& route,
                               const config::ConsumeConfig& entry) {
    return std::make_unique<consume::HttpHandler>(worker, route, entry);
  };
  auto process = consume::ConsumeProcess::open(*std::move(config), make_handler);
  if (!process) return fail(process.error());
  boost::asio::signal_set signals((*process)->context(), SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    server::tell_stopping("Finishing what runs");
    (*process)->drain();
  });
  announce("admin", (*process)->admin());
  announce_ready((*process)->process(), "Taking messages");
  (*process)->run();
  return end((*process)->process());
}

}  // namespace

void add_consume(CLI::App& app, Run& run) {
  CLI::App* command =
      app.add_subcommand("consume", "Deliver messages from queues to handlers, each id once");
  auto options = std::make_shared<ConsumeOptions>();
  command->group(kGroupRun);
  add_config_file(*command, options->file, "The configuration file (docs/consume.md)")->required();
  command->add_option("--only", options->only, "Run only the entry of consume with this name")
      ->type_name("NAME");
  command
      ->add_option("--admin", options->admin,
                   "Address of the admin listener, instead of the file's admin.listen")
      ->type_name("HOST:PORT");
  command->footer(
      "Prints the address of the admin listener, then \"ready\", to standard output; logs to "
      "standard error.\nSIGTERM: take no more messages, finish what runs (drain_timeout), "
      "acknowledge, return the rest, then exit.");
  command->callback([&run, options] { run = [options] { return consume(*options); }; });
}

}  // namespace semel::cli
