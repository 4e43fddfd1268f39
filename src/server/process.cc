#include "server/process.h"

#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "engine/process_identity.h"
#include "engine/spawn.h"
#include "execution/operation_name.h"
#include "execution/redelivery.h"

namespace semel::server {
namespace asio = boost::asio;

namespace {

constexpr auto kIdleCheckEvery = std::chrono::milliseconds(10);
// How long the end may wait for those who take spans and notifications.
constexpr Duration kTellingMin = std::chrono::seconds(1);
constexpr Duration kTellingMax = std::chrono::seconds(5);

unsigned worker_count(const config::Config& config) {
  return config.workers > 0 ? config.workers : std::max(1u, std::thread::hardware_concurrency());
}

bool counts_live(const runtime::ActiveConfig& settings) {
  if (settings.config.limits.live_keys > 0) return true;
  const auto limits_live = [](const auto& operation) { return operation.limits.live_keys > 0; };
  if (settings.config.service &&
      std::ranges::any_of(settings.config.service->operations, limits_live)) {
    return true;
  }
  return std::ranges::any_of(settings.routes, limits_live);
}

// Null: there is none.
const core::HashKey* first_hash_key(const runtime::ActiveConfig& settings) {
  const core::HashKeys& keys = settings.key_material.hash_keys;
  return keys.empty() ? nullptr : &keys.front();
}

// Makes the spool's own folder, if it has one and it is missing.
std::expected<void, std::string> make_spool(const std::string& path) {
  std::error_code failed;
  if (path.empty() || std::filesystem::is_directory(path, failed)) return {};
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return {};
  return std::unexpected("spool " + path +
                         ": cannot create the directory: " + std::strerror(errno));
}

void warn_of_low_disk(const runtime::Services& services) {
  for (const auto& [what, disk] :
       {std::pair("store", services.store_disk ? &*services.store_disk : nullptr),
        std::pair("spool", &services.spool.disk())}) {
    if (disk == nullptr || !disk->is_low()) continue;
    telemetry::log_event(config::LogLevel::warn, "nothing new is accepted",
                         {{"of", what}, {"why", disk->describe()}});
  }
}

}  // namespace

Process::Process(config::Config config, std::vector<config::RouteConfig> routes,
                 runtime::KeyMaterial key_material, std::unique_ptr<telemetry::Metrics> metrics,
                 std::unique_ptr<Store> store)
    : metrics_(std::move(metrics)),
      store_(std::move(store)),
      settings_(std::make_shared<const runtime::ActiveConfig>(
          std::move(config), std::move(routes), std::move(key_material), *metrics_, nullptr)),
      observer_(*metrics_, limits_, settings_->config.log),
      services_(std::make_unique<runtime::Services>(*store_, *metrics_, limits_, observer_,
                                                    machine_clock_, tokens_, engine::this_node(),
                                                    settings_->config)),
      trial_(*store_, machine_clock_, tokens_),
      prober_(std::make_unique<execution::Prober>(*services_)) {
  services_->prober = prober_.get();
  observer_.became_unknown = [this](const Record& record, Time now) {
    prober_->became_unknown(record, now);
    notify_unknown(record, now);
  };
  limits_.count_live(counts_live(*settings_));
  for (unsigned i = 0; i < worker_count(settings_->config); ++i) {
    workers_.push_back(std::make_unique<runtime::Worker>(*services_, settings_));
    services_->workers.push_back(workers_.back().get());
  }
  watch_ = std::make_unique<runtime::UpstreamWatch>(*workers_.front());
  services_->engine.run_on(context().get_executor());
}

std::expected<std::unique_ptr<Process>, std::string> Process::start(
    config::Config config, std::vector<config::RouteConfig> routes,
    runtime::KeyMaterial key_material, std::unique_ptr<telemetry::Metrics> metrics,
    std::unique_ptr<Store> store) {
  if (auto made = make_spool(config.spool.path); !made) {
    return std::unexpected(std::move(made.error()));
  }
  std::unique_ptr<Process> process(new Process(std::move(config), std::move(routes),
                                               std::move(key_material), std::move(metrics),
                                               std::move(store)));
  if (auto telling = process->start_telling(); !telling) {
    return std::unexpected(std::move(telling.error()));
  }
  warn_of_low_disk(*process->services_);
  return process;
}

Process::~Process() {
  close();
}

// The threads of the spool and of the store first, since they post to the workers' loops; then the
// loops; then what the work in them refers to.
void Process::close() {
  if (!store_) return;
  services_->spool.stop();
  services_->engine.stop();
  services_->engine.let_go_of_store();
  store_.reset();
  services_->engine.stop();
  workers_.clear();
}

void Process::run() {
  const asio::any_io_executor executor = context().get_executor();
  Engine& engine = services_->engine;
  engine::spawn_loop(executor, "trying the store", [this] { return trial_.run(); });
  engine::spawn_loop(executor, "keeping leases", [&engine] { return engine.keep(); });
  engine::spawn_loop(executor, "recovery", [&engine] { return engine.recover(); });
  engine::spawn_loop(executor, "sweeping", [&engine] { return engine.sweep_forever(); });
  engine::spawn_loop(executor, "watching upstreams", [this] { return watch_->run(); });
  engine::spawn_loop(executor, "probing", [this] { return prober_->run(*workers_.front()); });
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < workers_.size(); ++i) {
    threads.emplace_back([worker = workers_[i].get()] { worker->run(); });
  }
  workers_.front()->run();
  for (auto& thread : threads) thread.join();
  tell_the_rest();
}

std::expected<void, std::string> Process::start_telling() {
  if (config().tracing) {
    auto spans = telemetry::SpanExporter::start(*config().tracing, *metrics_);
    if (!spans) return std::unexpected(std::move(spans.error()));
    spans_ = *std::move(spans);
    services_->tracer = &tracer_.emplace(config().tracing->sample, *spans_);
  }
  if (config().notify) {
    auto notifier = telemetry::Notifier::start(*config().notify, config().log.keys, *metrics_);
    if (!notifier) return std::unexpected(std::move(notifier.error()));
    notifier_ = *std::move(notifier);
    notifier_->use_hash_key(first_hash_key(*settings_));
    services_->notifier = notifier_.get();
  }
  return {};
}

void Process::notify_unknown(const Record& record, Time now) {
  if (!notifier_) return;
  notifier_->notify({.type = execution::is_dead_letter(record) ? telemetry::kDeadLetterNotice
                                                               : telemetry::kOutcomeUnknownNotice,
                     .name = std::string(execution::name_in(record.operation)),
                     .at = now,
                     .record = record.id.hex(),
                     .operation = record.operation,
                     .tenant = record.tenant,
                     .key = record.key,
                     .reason = record.reason,
                     .attempt = record.attempt});
}

// Also takes a moment if nothing is left of drain_timeout: service managers wait longer than that.
void Process::tell_the_rest() {
  const auto patience = [this] {
    const SteadyTime now = machine_clock_.steady();
    return std::clamp<Duration>(drained_by_ - now, kTellingMin, kTellingMax);
  };
  if (notifier_) notifier_->finish(patience());
  if (spans_) spans_->finish(patience());
}

std::vector<std::string> Process::refused_work() const {
  std::vector<std::string> refused;
  const bool disk_is_low = services_->store_disk && services_->store_disk->is_low();
  if (disk_is_low) {
    refused.push_back("accepts no new keys: " + services_->store_disk->describe());
  } else if (const auto trouble = services_->store.trouble()) {
    refused.push_back("accepts no new keys: " + *trouble);
  } else if (trial_.trouble()) {
    refused.push_back("accepts no new keys: " + *trial_.trouble());
  }
  if (services_->spool.disk().is_low()) {
    refused.push_back("accepts no large bodies: " + services_->spool.disk().describe());
  }
  return refused;
}

asio::awaitable<void> Process::adopt(config::Config config, std::vector<config::RouteConfig> routes,
                                     runtime::KeyMaterial key_material) {
  settings_ = std::make_shared<const runtime::ActiveConfig>(
      std::move(config), std::move(routes), std::move(key_material), *metrics_, settings_.get());
  limits_.count_live(counts_live(*settings_));
  if (notifier_) notifier_->use_hash_key(first_hash_key(*settings_));
  for (auto& worker : workers_) co_await worker->adopt(settings_);
}

void Process::drain() {
  if (services_->draining.exchange(true)) return;
  telemetry::log_event(config::LogLevel::info, "draining", {});
  for (auto& worker : workers_) worker->drain();
  asio::co_spawn(context(), wait_until_idle(), engine::OrStop{"draining"});
}

asio::awaitable<void> Process::wait_until_idle() {
  drained_by_ = after(machine_clock_.steady(), settings_->config.drain_timeout);
  const auto busy = [this] {
    return services_->active > 0 || services_->engine.running().executions > 0;
  };
  const auto wait = [&]() -> asio::awaitable<void> {
    while (busy() && machine_clock_.steady() < drained_by_)
      co_await machine_clock_.sleep(kIdleCheckEvery);
  };
  co_await wait();
  // One may have come on an open connection just now. It is waited for, too; the next one finds its
  // connection closed.
  services_->ending = true;
  co_await wait();
  telemetry::log_event(config::LogLevel::info, "stopped",
                       {{"cut_off", std::to_string(services_->active)}});
  services_->engine.stop();
  for (auto& worker : workers_) worker->stop();
}

}  // namespace semel::server
