#include "consume/process.h"

#include <boost/asio/post.hpp>

#include "consume/sources/make_source.h"
#include "server/open_store.h"

namespace semel::consume {

std::expected<std::unique_ptr<ConsumeProcess>, std::string> ConsumeProcess::open(
    config::Config config, const MakeHandler& make_handler) {
  std::vector<std::unique_ptr<Source>> sources;
  for (const config::ConsumeConfig& each : config.consume) {
    auto source = make_source(each);
    if (!source) return std::unexpected(std::move(source.error()));
    sources.push_back(*std::move(source));
  }
  auto metrics = std::make_unique<telemetry::Metrics>();
  auto store = server::open_store_for(config, *metrics);
  if (!store) return std::unexpected(std::move(store.error()));
  const std::vector<config::ConsumeConfig> entries = config.consume;
  std::vector<config::RouteConfig> handlers;
  for (const config::ConsumeConfig& each : entries) handlers.push_back(each.route);
  auto key_material = runtime::KeyMaterial::load(config, handlers);
  if (!key_material) return std::unexpected(std::move(key_material.error()));
  // Takes no queued work from the engine: on a shared store, requests that a gateway has queued are
  // for gateways, which have their routes.
  auto parts =
      server::Process::start(std::move(config), std::move(handlers), std::move(*key_material),
                             std::move(metrics), std::move(*store));
  if (!parts) return std::unexpected(std::move(parts.error()));
  std::unique_ptr<ConsumeProcess> process(new ConsumeProcess);
  process->process_ = *std::move(parts);
  auto admin = admin::Admin::start(*process->process_, server::Listeners());
  if (!admin) {
    return std::unexpected(admin.error() + "; --admin names another address for this process");
  }
  process->admin_ = *std::move(admin);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    runtime::Worker& worker = process->process_->worker_for(i);
    const runtime::Route route(worker.settings(), i);
    process->consumers_.push_back(std::make_unique<QueueConsumer>(
        worker, route, entries[i], std::move(sources[i]), make_handler(worker, route, entries[i])));
  }
  return process;
}

ConsumeProcess::~ConsumeProcess() {
  consumers_.clear();
  admin_.reset();
  // A store that has stopped is not closed: closing would sync again what failed to be synced.
  if (process_ && process_->services().store.trouble()) static_cast<void>(process_.release());
}

void ConsumeProcess::run() {
  for (auto& consumer : consumers_) consumer->start();
  process_->run();
  // Settle with the brokers what was decided; they deliver the rest again.
  for (auto& consumer : consumers_) consumer->stop();
  telemetry::flush_log();
}

void ConsumeProcess::drain() {
  boost::asio::post(process_->context(), [this] {
    for (std::size_t i = 0; i < consumers_.size(); ++i) {
      runtime::Worker& worker = process_->worker_for(i);
      boost::asio::post(worker.context(), [one = consumers_[i].get()] { one->drain(); });
    }
    process_->drain();
  });
}

}  // namespace semel::consume
