#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>

#include "admin/admin.h"
#include "cli/commands.h"
#include "cli/load_config.h"
#include "cli/server_process.h"
#include "engine/spawn.h"
#include "runtime/limits/descriptors.h"
#include "server/listeners.h"
#include "server/reload.h"
#include "service/service.h"

namespace semel::cli {
namespace {

// Reads the admin tokens again. Returns what puts them into effect, or reports why they cannot be
// used.
std::function<void()> read_tokens(admin::Admin& admin, const config::Config& config) {
  auto access = admin::Admin::read_access(config);
  if (!access) {
    return [why = std::move(access.error())] {
      telemetry::log_event(config::LogLevel::error,
                           "new admin tokens rejected; keeping the old ones", {{"why", why}});
    };
  }
  return [&admin, read = *std::move(access)] { admin.use(read); };
}

// Likewise the tokens of the service's clients.
std::function<void()> read_clients(service::Service* service, const config::Config& config) {
  if (service == nullptr || !config.service) return [] {};
  return [service, read = service::Clients::reload(*config.service, *service->clients())] {
    for (const std::string& why : read.problems) {
      telemetry::log_event(config::LogLevel::error, "a service client's token was not read",
                           {{"why", why}});
    }
    service->use(read.clients);
  };
}

int serve(const std::string& file) {
  // A SIGHUP that comes before the gateway is ready waits until there is something to reload.
  sigset_t hangup;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &hangup, nullptr);
  auto config = load_config(file);
  if (!config) return kExitUsage;
  if (config->routes.empty() && !config->service) {
    std::fprintf(stderr, "%s: routes: required; a list of routes\n", file.c_str());
    return kExitUsage;
  }
  if (auto started = telemetry::start_logging(config->log); !started) return fail(started.error());
  telemetry::reopen_log_at_signal();
  ignore_write_signals();
  if (auto fits = runtime::fit_into_descriptors(*config); !fits) return fail(fits.error());

  auto listeners = server::Listeners::take(*config);
  if (!listeners) return fail(listeners.error());
  server::tell_status("Opening the store");
  auto metrics = std::make_unique<telemetry::Metrics>();
  auto store = server::open_store_for(*config, *metrics);
  if (!store) return fail(store.error());
  auto server =
      server::Server::start(std::move(*config), std::move(metrics), std::move(*store), *listeners);
  if (!server) return fail(server.error());
  auto admin = admin::Admin::start((*server)->process(), *listeners);
  if (!admin) return fail(admin.error());
  auto service = service::Service::start((*server)->process(), *listeners);
  if (!service) return fail(service.error());
  boost::asio::signal_set signals((*server)->context(), SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    server::tell_stopping("Finishing what runs");
    (*server)->drain();
  });
  boost::asio::signal_set hangups((*server)->context(), SIGHUP);
  const auto tokens = [used = admin->get(), beside = service->get()](const config::Config& now) {
    return [use_tokens = read_tokens(*used, now), use_clients = read_clients(beside, now)] {
      use_tokens();
      use_clients();
    };
  };
  boost::asio::co_spawn((*server)->context(), server::reload_on(hangups, **server, file, tokens),
                        engine::OrStop{"reloading"});
  pthread_sigmask(SIG_UNBLOCK, &hangup, nullptr);
  for (const config::HostPort& at : (*server)->listening()) {
    announce((*server)->process().config().tls ? "https" : "http", at);
  }
  announce("admin", (*admin)->listening());
  if (*service) announce("service", (*service)->listening());
  announce_ready((*server)->process(), "Serving");
  (*server)->run();
  return end((*server)->process());
}

}  // namespace

void add_serve(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("serve", "Run the gateway");
  auto file = std::make_shared<std::string>();
  command->group(kGroupRun);
  add_config_file(*command, *file, "The configuration file (docs/configuration.md)")->required();
  command->footer(
      "Prints the addresses it listens on, then \"ready\", to standard output; logs to standard "
      "error or to log.file.\nSIGTERM: finish what runs (drain_timeout), then exit. SIGHUP: read "
      "the "
      "configuration again.\nSIGUSR1: open log.file anew.");
  command->callback([&run, file] { run = [file] { return serve(*file); }; });
}

}  // namespace semel::cli
