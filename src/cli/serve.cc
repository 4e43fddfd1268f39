#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdio>
#include <expected>
#include <string>

#include "admin/admin.h"
#include "cli/commands.h"
#include "cli/load_config.h"
#include "cli/server_process.h"
#include "config/error.h"
#include "config/parse.h"
#include "engine/spawn.h"
#include "runtime/descriptors.h"

namespace semel::cli {
namespace {

boost::asio::awaitable<void> reload_store(Store& store, boost::asio::thread_pool& reader) {
  auto reload = [&store]() -> boost::asio::awaitable<std::expected<void, std::string>> {
    co_return store.reload();
  };
  const auto reloaded = co_await boost::asio::co_spawn(reader, reload, boost::asio::use_awaitable);
  if (reloaded) co_return;
  log_event(LogLevel::error, "new keys rejected; keeping the old ones",
            {{"why", reloaded.error()}});
}

struct ReadAgain {
  ConfigOutcome outcome;
  std::optional<KeyMaterial> key_material;  // set if there is a configuration
};

// Reads the file, and the files that it names.
ReadAgain read_again(const std::string& file) {
  ReadAgain read{read_config(file), std::nullopt};
  if (!read.outcome.config) return read;
  if (read.outcome.config->routes.empty()) {
    read.outcome.config.reset();
    read.outcome.errors.push_back({file, 0, "routes", "required; a list of routes"});
    return read;
  }
  auto fits = fit_into_descriptors(*read.outcome.config);
  auto key_material =
      fits ? KeyMaterial::load(*read.outcome.config) : std::unexpected(std::move(fits.error()));
  if (key_material) {
    read.key_material = *std::move(key_material);
  } else {
    read.outcome.config.reset();
    read.outcome.errors.push_back({file, 0, "", std::move(key_material.error())});
  }
  return read;
}

// Reads the file and the admin tokens again whenever SIGHUP comes. A file that cannot be used
// changes nothing.
boost::asio::awaitable<void> reload_on(boost::asio::signal_set& hangups, Server& server,
                                       Admin& admin, std::string file) {
  boost::asio::thread_pool reader(1);
  for (;;) {
    boost::system::error_code error;
    co_await hangups.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, error));
    if (error) co_return;
    auto read = [&file]() -> boost::asio::awaitable<ReadAgain> { co_return read_again(file); };
    auto [outcome, key_material] =
        co_await boost::asio::co_spawn(reader, read, boost::asio::use_awaitable);
    for (const ConfigError& warning : outcome.warnings) {
      log_event(LogLevel::warn, "configuration", {{"why", to_string(warning)}});
    }
    for (const ConfigError& wrong : outcome.errors) {
      log_event(LogLevel::error, "configuration refused, the old one stays",
                {{"why", to_string(wrong)}});
    }
    if (outcome.config) {
      co_await reload_store(server.services().store, reader);
      co_await server.reload(std::move(*outcome.config), std::move(*key_material));
    } else {
      server.services().metrics.reloaded(false);
    }
    auto read_tokens =
        [&server]() -> boost::asio::awaitable<std::expected<AdminAccess, std::string>> {
      co_return Admin::read_access(server.config());
    };
    auto access = co_await boost::asio::co_spawn(reader, read_tokens, boost::asio::use_awaitable);
    if (access) {
      admin.use(*std::move(access));
    } else {
      log_event(LogLevel::error, "admin tokens refused, the old ones stay",
                {{"why", access.error()}});
    }
  }
}

int serve(const std::string& file) {
  auto config = load_config(file);
  if (!config) return kExitUsage;
  if (config->routes.empty()) {
    std::fprintf(stderr, "%s: routes: required; a list of routes\n", file.c_str());
    return kExitUsage;
  }
  start_logging(config->log);
  ignore_write_signals();
  if (auto fits = fit_into_descriptors(*config); !fits) return fail(fits.error());

  auto metrics = std::make_unique<Metrics>();
  auto store = open_store_for(*config, *metrics);
  if (!store) return fail(store.error());
  auto server = Server::start(std::move(*config), std::move(metrics), std::move(*store));
  if (!server) return fail(server.error());
  auto admin = Admin::start(**server);
  if (!admin) return fail(admin.error());
  boost::asio::signal_set signals((*server)->context(), SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (!error) (*server)->drain();
  });
  boost::asio::signal_set hangups((*server)->context(), SIGHUP);
  boost::asio::co_spawn((*server)->context(), reload_on(hangups, **server, **admin, file),
                        OrStop{"reloading"});
  for (const HostPort& at : (*server)->listening()) {
    announce((*server)->config().tls ? "https" : "http", at);
  }
  announce("admin", (*admin)->listening());
  std::puts("ready");
  std::fflush(stdout);
  (*server)->run();
  return end(**server);
}

}  // namespace

void add_serve(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("serve", "Run the gateway");
  auto file = std::make_shared<std::string>();
  command->add_option("--config", *file, "The configuration file (docs/configuration.md)")
      ->required()
      ->type_name("FILE");
  command->footer(
      "Standard output says what is listened on, then \"ready\"; the log goes to "
      "standard error.\nSIGTERM: finish what runs (drain_timeout), then end. "
      "SIGHUP: read the configuration again.");
  command->callback([&run, file] { run = [file] { return serve(*file); }; });
}

}  // namespace semel::cli
