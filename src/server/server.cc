#include "server/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/process_identity.h"
#include "engine/spawn.h"
#include "gateway/session.h"

namespace semel {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto kLookAtFilesEvery = std::chrono::seconds(1);
constexpr auto kIdleCheckEvery = std::chrono::milliseconds(10);

unsigned worker_count(const Config& config) {
  return config.workers > 0 ? config.workers : std::max(1u, std::thread::hardware_concurrency());
}

bool counts_live(const Config& config) {
  if (config.limits.live_keys > 0) return true;
  return std::ranges::any_of(config.routes,
                             [](const RouteConfig& route) { return route.limits.live_keys > 0; });
}

// Makes the spool's own folder, if it has one and it is missing.
std::expected<void, std::string> make_spool(const std::string& path) {
  std::error_code failed;
  if (path.empty() || std::filesystem::is_directory(path, failed)) return {};
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return {};
  return std::unexpected("spool " + path + ": cannot make the directory: " + std::strerror(errno));
}

void warn_of_low_disk(const Services& services) {
  for (const auto& [what, disk] :
       {std::pair("store", services.store_disk ? &*services.store_disk : nullptr),
        std::pair("spool", &services.spool.disk())}) {
    if (disk == nullptr || !disk->is_low()) continue;
    log_event(LogLevel::warn, "nothing new is taken on", {{"of", what}, {"why", disk->describe()}});
  }
}

using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

}  // namespace

Server::Server(Config config, KeyMaterial key_material, std::unique_ptr<Metrics> metrics,
               std::unique_ptr<Store> store)
    : metrics_(std::move(metrics)),
      store_(std::move(store)),
      files_(std::make_unique<BlockingPool>("semel-files", 1)),
      settings_(std::make_shared<const ActiveConfig>(std::move(config), std::move(key_material),
                                                     *metrics_)),
      services_(std::make_unique<Services>(*store_, *metrics_, machine_clock_, tokens_, this_node(),
                                           settings_->config)),
      background_(std::make_unique<Background>(*services_)),
      prober_(std::make_unique<Prober>(*services_)) {
  services_->background = background_.get();
  services_->prober = prober_.get();
  services_->engine.hand_queued_to([this](QueuedWork work) { background_->resume(work); });
  services_->engine.ask_about_kept(
      [this](const Record& kept) { return background_->look_at(kept); });
  services_->observer.became_unknown = [this](const Record& record, Time now) {
    prober_->became_unknown(record, now);
  };
  services_->limits.count_live(counts_live(settings_->config));
  background_->set_limit(settings_->config.limits.in_flight);
  for (unsigned i = 0; i < worker_count(settings_->config); ++i) {
    workers_.push_back(std::make_unique<Worker>(*services_, settings_, serve_client));
    services_->workers.push_back(workers_.back().get());
  }
  services_->engine.run_on(context().get_executor());
}

std::expected<std::unique_ptr<Server>, std::string> Server::start(Config config,
                                                                  std::unique_ptr<Metrics> metrics,
                                                                  std::unique_ptr<Store> store) {
  auto key_material = KeyMaterial::load(config);
  if (!key_material) return std::unexpected(std::move(key_material.error()));
  if (auto made = make_spool(config.spool.path); !made) {
    return std::unexpected(std::move(made.error()));
  }
  std::unique_ptr<Server> server(new Server(std::move(config), std::move(*key_material),
                                            std::move(metrics), std::move(store)));
  warn_of_low_disk(*server->services_);
  auto bound = server->bind();
  if (!bound) return std::unexpected(bound.error());
  return server;
}

Server::~Server() {
  services_->spool.stop();
  files_.reset();
  services_->engine.stop();
  services_->engine.let_go_of_store();
  store_.reset();
  services_->engine.stop();
  workers_.clear();
  prober_.reset();
  background_.reset();
  services_.reset();
}

// Every worker has its own socket on every address; the kernel spreads the connections.
std::expected<void, std::string> Server::bind() {
  for (const HostPort& wanted : settings_->config.listen) {
    tcp::endpoint endpoint(asio::ip::make_address(wanted.host), wanted.port);
    for (auto& worker : workers_) {
      boost::system::error_code error;
      tcp::acceptor acceptor(worker->context());
      acceptor.open(endpoint.protocol(), error);
      if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
      if (!error) acceptor.set_option(ReusePort(true), error);
      if (!error) acceptor.bind(endpoint, error);
      if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
      if (error) {
        return std::unexpected("cannot listen on " + wanted.host + ":" +
                               std::to_string(wanted.port) + ": " + error.message());
      }
      endpoint = acceptor.local_endpoint();  // has the port, if the system picked it
      worker->listen(std::move(acceptor));
    }
    listening_.push_back({wanted.host, endpoint.port()});
  }
  return {};
}

void Server::run() {
  const asio::any_io_executor executor = context().get_executor();
  Engine& engine = services_->engine;
  spawn_loop(executor, "keeping leases", [&engine] { return engine.keep(); });
  spawn_loop(executor, "recovery", [&engine] { return engine.recover(); });
  spawn_loop(executor, "sweeping", [&engine] { return engine.sweep_forever(); });
  spawn_loop(executor, "following files", [this] { return follow_files(); });
  spawn_loop(executor, "probing", [this] { return prober_->run(*workers_.front()); });
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < workers_.size(); ++i) {
    threads.emplace_back([worker = workers_[i].get()] { worker->run(); });
  }
  workers_.front()->run();
  for (auto& thread : threads) thread.join();
}

asio::awaitable<void> Server::follow_files() {
  for (;;) {
    co_await machine_clock_.sleep(kLookAtFilesEvery);
    const std::shared_ptr<TokenKeys> tokens = settings_->key_material.tokens;
    if (!tokens) continue;
    auto refresh = [tokens] { tokens->refresh(); };
    co_await files_->run(std::move(refresh));
  }
}

asio::awaitable<void> Server::reload(Config wanted, KeyMaterial key_material) {
  std::string restart;
  for (const std::string& key : needs_restart(settings_->config, wanted)) {
    restart += (restart.empty() ? "" : ", ") + key;
  }
  settings_ = std::make_shared<const ActiveConfig>(reloadable(settings_->config, std::move(wanted)),
                                                   std::move(key_material), *metrics_);
  services_->limits.count_live(counts_live(settings_->config));
  for (auto& worker : workers_) co_await worker->adopt(settings_);
  background_->set_limit(settings_->config.limits.in_flight);
  metrics_->reloaded(true);
  log_event(LogLevel::info, "configuration loaded", {{"file", settings_->config.file}});
  if (!restart.empty()) {
    log_event(LogLevel::warn, "changes that need a restart were left out", {{"keys", restart}});
  }
}

void Server::drain() {
  if (services_->draining.exchange(true)) return;
  log_event(LogLevel::info, "draining", {});
  for (auto& worker : workers_) worker->drain();
  asio::co_spawn(context(), wait_until_idle(), OrStop{"draining"});
}

asio::awaitable<void> Server::wait_until_idle() {
  const SteadyTime give_up = after(machine_clock_.steady(), settings_->config.drain_timeout);
  const auto busy = [this] {
    return services_->active > 0 || services_->engine.running().executions > 0;
  };
  while (busy() && machine_clock_.steady() < give_up)
    co_await machine_clock_.sleep(kIdleCheckEvery);
  log_event(LogLevel::info, "stopped", {{"cut_off", std::to_string(services_->active)}});
  services_->engine.stop();
  for (auto& worker : workers_) worker->stop();
}

}  // namespace semel
