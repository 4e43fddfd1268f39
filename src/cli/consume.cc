#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <optional>

#include "admin/admin.h"
#include "cli/commands.h"
#include "cli/load_config.h"
#include "cli/server_process.h"
#include "gateway/config_values.h"
#include "messages/consumer.h"

namespace semel::cli {
namespace {

struct Options {
  std::string file;
  std::string only;
  std::string admin;
};

// The consumers' handlers in place of the file's routes, and nobody to be listened to but the
// admin.
Config without_routes(Config config) {
  config.listen.clear();
  config.tls.reset();
  config.tenant = {};
  config.routes.clear();
  for (const ConsumeConfig& consume : config.consume) config.routes.push_back(consume.route);
  return config;
}

// Why the options cannot be followed; what is left in the configuration is to be done.
std::optional<std::string> apply(const Options& options, Config& config) {
  if (!options.admin.empty()) {
    auto address = config_file::parse_listen(options.admin);
    if (!address) return "--admin '" + options.admin + "' " + address.error();
    config.admin.listen = *std::move(address);
  }
  if (!options.only.empty()) {
    std::erase_if(config.consume,
                  [&](const ConsumeConfig& c) { return c.route.name != options.only; });
    if (config.consume.empty()) return "there is no '" + options.only + "' under consume";
  }
  if (config.consume.empty()) return options.file + ": consume: required; a list of queues";
  return std::nullopt;
}

int consume(const Options& options) {
  auto config = load_config(options.file);
  if (!config) return kExitUsage;
  if (const auto wrong = apply(options, *config)) {
    std::fprintf(stderr, "semel: %s\n", wrong->c_str());
    return kExitUsage;
  }
  start_logging(config->log);
  ignore_write_signals();

  std::vector<std::unique_ptr<Source>> sources;
  for (const ConsumeConfig& each : config->consume) {
    auto source = make_source(each);
    if (!source) return fail(source.error());
    sources.push_back(*std::move(source));
  }
  auto metrics = std::make_unique<Metrics>();
  auto store = open_store_for(*config, *metrics);
  if (!store) return fail(store.error());
  const std::vector<ConsumeConfig> entries = config->consume;
  auto server =
      Server::start(without_routes(*std::move(config)), std::move(metrics), std::move(*store));
  if (!server) return fail(server.error());
  // On a shared store: what a gateway has queued is for gateways, which have its route.
  (*server)->gateway().engine.hand_queued_to(nullptr);
  auto admin = Admin::start(**server);
  if (!admin) return fail(admin.error() + "; --admin names another address for this process");

  std::vector<std::unique_ptr<Consumer>> consumers;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Worker& worker = (*server)->worker_for(i);
    consumers.push_back(std::make_unique<Consumer>(worker, i, entries[i], std::move(sources[i])));
  }
  boost::asio::signal_set signals((*server)->context(), SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    for (std::size_t i = 0; i < consumers.size(); ++i) {
      Worker& worker = (*server)->worker_for(i);
      boost::asio::post(worker.context(), [one = consumers[i].get()] { one->drain(); });
    }
    (*server)->drain();
  });
  announce("admin", (*admin)->listening());
  std::puts("ready");
  std::fflush(stdout);
  for (auto& consumer : consumers) consumer->start();
  (*server)->run();
  // What was decided is settled with the brokers; the rest they deliver again.
  for (auto& consumer : consumers) consumer->stop();
  consumers.clear();
  return end(**server);
}

}  // namespace

void add_consume(CLI::App& app, Run& run) {
  CLI::App* command =
      app.add_subcommand("consume", "Take messages from queues to handlers, each id once");
  auto options = std::make_shared<Options>();
  command->add_option("--config", options->file, "The configuration file (docs/consume.md)")
      ->required()
      ->type_name("FILE");
  command->add_option("--only", options->only, "Only the queue of this name under consume")
      ->type_name("NAME");
  command
      ->add_option("--admin", options->admin,
                   "Where the admin listens, instead of the file's admin.listen")
      ->type_name("HOST:PORT");
  command->footer(
      "Standard output says where the admin listens, then \"ready\"; the log goes to standard "
      "error.\nSIGTERM: take no more messages, finish what runs (drain_timeout), acknowledge, "
      "return the rest, then end.");
  command->callback([&run, options] { run = [options] { return consume(*options); }; });
}

}  // namespace semel::cli
