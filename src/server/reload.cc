#include "server/reload.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "config/error.h"
#include "config/read_file.h"
#include "runtime/limits/descriptors.h"
#include "server/service_manager.h"

namespace semel::server {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

struct ReadAgain {
  config::ConfigOutcome outcome;
  std::optional<runtime::KeyMaterial> key_material;  // set if there is a configuration
};

// Reads the file, and the files that it names.
ReadAgain read_again(const std::string& file) {
  ReadAgain read{config::read_config(file), std::nullopt};
  if (!read.outcome.config) return read;
  if (read.outcome.config->routes.empty() && !read.outcome.config->service) {
    read.outcome.config.reset();
    read.outcome.errors.push_back({file, 0, "routes", "required; a list of routes"});
    return read;
  }
  auto fits = runtime::fit_into_descriptors(*read.outcome.config);
  auto key_material = fits ? runtime::KeyMaterial::load_for_gateway(*read.outcome.config)
                           : std::unexpected(std::move(fits.error()));
  if (key_material) {
    read.key_material = *std::move(key_material);
  } else {
    read.outcome.config.reset();
    read.outcome.errors.push_back({file, 0, "", std::move(key_material.error())});
  }
  return read;
}

awaitable<void> reload_store(Server& server) {
  auto reload = [&store = server.process().services().store] { return store.reload(); };
  const auto reloaded = co_await server.files().run(std::move(reload));
  if (reloaded) co_return;
  telemetry::log_event(config::LogLevel::error, "new keys rejected; keeping the old ones",
                       {{"why", reloaded.error()}});
}

// Returns false if the file cannot be used.
awaitable<bool> reload_once(Server& server, std::string file) {
  auto read = [file = std::move(file)] { return read_again(file); };
  auto [outcome, key_material] = co_await server.files().run(std::move(read));
  for (const config::ConfigError& warning : outcome.warnings) {
    telemetry::log_event(config::LogLevel::warn, "configuration",
                         {{"why", config::to_string(warning)}});
  }
  for (const config::ConfigError& wrong : outcome.errors) {
    telemetry::log_event(config::LogLevel::error, "new configuration rejected; keeping the old one",
                         {{"why", config::to_string(wrong)}});
  }
  if (!outcome.config) {
    server.process().services().metrics.reloaded(false);
    co_return false;
  }
  co_await reload_store(server);
  co_await server.reload(std::move(*outcome.config), std::move(*key_material));
  co_return true;
}

}  // namespace

awaitable<void> reload_on(asio::signal_set& hangups, Server& server, std::string file,
                          ReadBeside read_beside) {
  for (;;) {
    boost::system::error_code error;
    co_await hangups.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;
    tell_reloading();
    const bool loaded = co_await reload_once(server, file);
    auto read = [read_beside, config = server.process().config()] { return read_beside(config); };
    const std::function<void()> use = co_await server.files().run(std::move(read));
    use();
    // After STOPPING=1 there is nothing to be ready for.
    if (server.process().services().draining) continue;
    tell_ready(loaded ? "Serving; the configuration was loaded again"
                      : "Serving by the old configuration: the new one was refused, see the log");
  }
}

}  // namespace semel::server
