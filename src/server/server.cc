#include "server/server.h"

#include "engine/spawn.h"
#include "gateway/session.h"

namespace semel::server {
namespace asio = boost::asio;

namespace {

constexpr auto kLookAtFilesEvery = std::chrono::seconds(1);

}  // namespace

Server::Server(std::unique_ptr<Process> process)
    : files_(std::make_unique<base::BlockingPool>("semel-files", 1)),
      process_(std::move(process)),
      background_(std::make_unique<execution::Background>(process_->services())) {
  runtime::Services& services = process_->services();
  services.background = background_.get();
  services.engine.hand_queued_to([this](QueuedWork work) { background_->resume(work); });
  services.engine.ask_about_kept([this](const Record& kept) { return background_->look_at(kept); });
  background_->set_limit(process_->config().limits.in_flight);
}

std::expected<std::unique_ptr<Server>, std::string> Server::start(
    config::Config config, std::unique_ptr<telemetry::Metrics> metrics,
    std::unique_ptr<Store> store, const Listeners& listeners) {
  auto key_material = runtime::KeyMaterial::load_for_gateway(config);
  if (!key_material) return std::unexpected(std::move(key_material.error()));
  std::vector<config::RouteConfig> routes = config.routes;
  auto process = Process::start(std::move(config), std::move(routes), std::move(*key_material),
                                std::move(metrics), std::move(store));
  if (!process) return std::unexpected(std::move(process.error()));
  std::unique_ptr<Server> server(new Server(*std::move(process)));
  auto listening = server->listen(listeners);
  if (!listening) return std::unexpected(std::move(listening.error()));
  return server;
}

Server::~Server() {
  files_.reset();
  process_->close();
  background_.reset();
}

std::expected<void, std::string> Server::listen(const Listeners& listeners) {
  for (config::HostPort at : process_->config().listen) {
    for (const auto& worker : process_->workers()) {
      auto acceptor = listeners.listen(worker->context(), Listeners::kGateway, at);
      if (!acceptor) return std::unexpected(std::move(acceptor.error()));
      at.port = acceptor->local_endpoint().port();  // the same for all, if the system picked it
      worker->listen(*std::move(acceptor), gateway::serve_client);
    }
    listening_.push_back(std::move(at));
  }
  return {};
}

void Server::run() {
  engine::spawn_loop(context().get_executor(), "following files",
                     [this] { return follow_files(); });
  process_->run();
}

asio::awaitable<void> Server::follow_files() {
  for (;;) {
    co_await process_->machine_clock().sleep(kLookAtFilesEvery);
    const std::shared_ptr<runtime::TokenKeys> tokens = process_->settings().key_material.tokens;
    if (!tokens) continue;
    auto refresh = [tokens] { tokens->refresh(); };
    co_await files_->run(std::move(refresh));
  }
}

asio::awaitable<void> Server::reload(config::Config wanted, runtime::KeyMaterial key_material) {
  std::string restart;
  for (const std::string& key : runtime::needs_restart(process_->config(), wanted)) {
    restart += (restart.empty() ? "" : ", ") + key;
  }
  config::Config config = runtime::reloadable(process_->config(), std::move(wanted));
  std::vector<config::RouteConfig> routes = config.routes;
  co_await process_->adopt(std::move(config), std::move(routes), std::move(key_material));
  background_->set_limit(process_->config().limits.in_flight);
  process_->services().metrics.reloaded(true);
  telemetry::log_event(config::LogLevel::info, "configuration loaded",
                       {{"file", process_->config().file}});
  if (!restart.empty()) {
    telemetry::log_event(config::LogLevel::warn, "changes that need a restart were left out",
                         {{"keys", restart}});
  }
}

}  // namespace semel::server
