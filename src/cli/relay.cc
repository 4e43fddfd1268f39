#include "relay/relay.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/outbox/outbox_where.h"
#include "cli/server_process.h"
#include "config/reading/relay.h"
#include "runtime/key_material.h"
#include "server/service_manager.h"
#include "telemetry/log.h"

namespace semel::cli {
namespace {

struct RelayArguments {
  OutboxWhere where;
  std::vector<std::string> destinations;  // NAME=URL
  bool allow_urls = false;
};

bool add_destinations(const RelayArguments& asked, config::RelayConfig& config) {
  for (const std::string& text : asked.destinations) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string url = equals == text.npos ? "" : text.substr(equals + 1);
    auto destination = config::reading::destination_of(name, url);
    if (name.empty() || !destination) {
      complain("--destination " + text + ": write it as NAME=http://host/path", kExitUsage);
      return false;
    }
    config.destinations.push_back(*std::move(destination));
  }
  config.allow_urls = config.allow_urls || asked.allow_urls;
  if (config.destinations.empty() && !config.allow_urls) {
    complain(
        "no destination given; set relay.destinations in the configuration, or use --destination "
        "NAME=URL",
        kExitUsage);
    return false;
  }
  return true;
}

int relay_outbox(RelayArguments asked) {
  auto config = settle(asked.where);
  if (!config) return kExitUsage;
  relay::RelayOptions options{
      asked.where.url,       asked.where.schema, config->relay.value_or(config::RelayConfig{}),
      config->drain_timeout, config->notify,     config->log.keys};
  if (!add_destinations(asked, options.config)) return kExitUsage;
  if (config->notify) {
    auto loaded = runtime::KeyMaterial::load(*config, {});
    if (!loaded) return fail(loaded.error());
    if (!loaded->hash_keys.empty()) options.hash_key = loaded->hash_keys.front();
  }
  if (auto started = telemetry::start_logging(config->log); !started) return fail(started.error());
  telemetry::reopen_log_at_signal();
  ignore_write_signals();
  const auto drained = relay::run_relay(options, [] {
    std::puts("ready");
    std::fflush(stdout);
    server::tell_ready("Delivering");
  });
  telemetry::flush_log();
  if (!drained) return fail(drained.error());
  if (!*drained) {
    std::_Exit(
        complain("drain_timeout passed before all deliveries were recorded; some will be repeated",
                 kExitFailed));
  }
  return kExitOk;
}

}  // namespace

void add_relay(CLI::App& app, Run& run) {
  CLI::App* command =
      app.add_subcommand("relay", "Deliver the messages in the outbox (docs/outbox.md)");
  auto asked = std::make_shared<RelayArguments>();
  command->group(kGroupRun);
  add_outbox_where(*command, asked->where, true);
  command
      ->add_option("--destination", asked->destinations,
                   "A destination in addition to those of the configuration")
      ->allow_extra_args(false)
      ->type_name("NAME=URL");
  command->add_flag("--allow-urls", asked->allow_urls,
                    "Deliver to destinations that are URLs: anyone who enqueues can then reach "
                    "whatever this process can reach");
  command->footer(
      "Prints \"ready\" to standard output; logs to standard error or to log.file. Any number of "
      "relays share the "
      "work.\nSIGTERM: finish what is being delivered (drain_timeout), give the rest back, then "
      "exit.");
  command->callback([&run, asked] { run = [asked] { return relay_outbox(*asked); }; });
}

}  // namespace semel::cli
