#include "consume/process.h"

#include <boost/asio/post.hpp>

#include "consume/sources/make_source.h"
#include "server/open_store.h"

namespace semel {
namespace {

// Replaces the file's routes by the consumers' handlers, and leaves no listener but the admin's.
Config without_routes(Config config) {
  config.listen.clear();
  config.tls.reset();
  config.tenant = {};
  config.routes.clear();
  for (const ConsumeConfig& consume : config.consume) config.routes.push_back(consume.route);
  return config;
}

}  // namespace

std::expected<std::unique_ptr<ConsumeProcess>, std::string> ConsumeProcess::open(
    Config config, const MakeHandler& make_handler) {
  std::vector<std::unique_ptr<Source>> sources;
  for (const ConsumeConfig& each : config.consume) {
    auto source = make_source(each);
    if (!source) return std::unexpected(std::move(source.error()));
    sources.push_back(*std::move(source));
  }
  auto metrics = std::make_unique<Metrics>();
  auto store = open_store_for(config, *metrics);
  if (!store) return std::unexpected(std::move(store.error()));
  const std::vector<ConsumeConfig> entries = config.consume;
  auto server =
      Server::start(without_routes(std::move(config)), std::move(metrics), std::move(*store));
  if (!server) return std::unexpected(std::move(server.error()));
  std::unique_ptr<ConsumeProcess> process(new ConsumeProcess);
  process->server_ = *std::move(server);
  // On a shared store: requests that a gateway has queued are for gateways, which have their
  // routes.
  process->server_->services().engine.hand_queued_to(nullptr);
  auto admin = Admin::start(*process->server_);
  if (!admin) {
    return std::unexpected(admin.error() + "; --admin names another address for this process");
  }
  process->admin_ = *std::move(admin);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Worker& worker = process->server_->worker_for(i);
    const Route route(worker.settings(), i);
    process->consumers_.push_back(std::make_unique<Consumer>(
        worker, route, entries[i], std::move(sources[i]), make_handler(worker, route, entries[i])));
  }
  return process;
}

ConsumeProcess::~ConsumeProcess() {
  consumers_.clear();
  admin_.reset();
  // A store that has stopped is not closed: closing would sync again what failed to be synced.
  if (server_ && server_->services().store.trouble()) static_cast<void>(server_.release());
}

void ConsumeProcess::run() {
  for (auto& consumer : consumers_) consumer->start();
  server_->run();
  // Settle with the brokers what was decided; they deliver the rest again.
  for (auto& consumer : consumers_) consumer->stop();
  flush_log();
}

void ConsumeProcess::drain() {
  boost::asio::post(server_->context(), [this] {
    for (std::size_t i = 0; i < consumers_.size(); ++i) {
      Worker& worker = server_->worker_for(i);
      boost::asio::post(worker.context(), [one = consumers_[i].get()] { one->drain(); });
    }
    server_->drain();
  });
}

}  // namespace semel
