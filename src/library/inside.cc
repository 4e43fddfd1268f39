#include "library/inside.h"

#include <pthread.h>
#include <signal.h>

#include "engine/process_identity.h"
#include "engine/spawn.h"

namespace semel {
namespace {

constexpr auto kIdleCheckEvery = std::chrono::milliseconds(2);

// Signals are for the program's own threads. Those that are made meanwhile get none.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

v1::Inside::Stay::Stay(Inside& inside) : inside_(inside) {
  const std::lock_guard lock(inside_.mutex_);
  is_in_ = !inside_.closing_;
  if (is_in_) ++inside_.calls_;
}

v1::Inside::Stay::~Stay() {
  if (!is_in_) return;
  const std::lock_guard lock(inside_.mutex_);
  if (--inside_.calls_ == 0) inside_.left_.notify_all();
}

std::shared_ptr<v1::Inside> v1::Inside::open(std::string_view url, Options options) {
  auto named = library::parse_store_url(url);
  if (!named) throw Error(named.error());
  const NoSignals in_new_threads;
  return std::shared_ptr<Inside>(new Inside(*std::move(named), std::move(options)));
}

v1::Inside::Inside(library::NamedStore named, Options options)
    : options_(std::move(options)),
      hides_keys_(named.hides_keys),
      warnings_(options_.warn),
      observer_(warnings_) {
  if (!named.name_space.empty()) options_.name_space = named.name_space;
  auto store = stores::open_store(
      named.store, {}, [this](const std::string& what) { warnings_.tell(what); },
      [this](std::string_view call, const std::string& why) { observer_.store_failed(call, why); });
  if (!store) {
    if (store.error().contains("another semel has it open")) throw StoreInUse(store.error());
    throw Unavailable(store.error());
  }
  store_ = *std::move(store);
  EngineOptions rules;
  rules.owner = engine::this_node();
  rules.patience = options_.patience;
  engine_.emplace(*store_, machine_clock_, tokens_, observer_, std::move(rules));
  context_ = std::make_unique<boost::asio::io_context>(1);
  const boost::asio::any_io_executor executor = context_->get_executor();
  engine_->run_on(executor);
  engine::spawn_loop(executor, "keeping leases", [this] { return engine_->keep(); });
  engine::spawn_loop(executor, "recovery", [this] { return engine_->recover(); });
  engine::spawn_loop(executor, "sweeping", [this] { return engine_->sweep_forever(); });
  thread_ = std::thread([loop = context_.get()] {
    pthread_setname_np(pthread_self(), "semel-engine");
    loop->run();
  });
}

v1::Inside::~Inside() {
  close();
}

// The store's threads post to the loop, so the store ends first; then the loop; then what the work
// in it refers to.
void v1::Inside::close() {
  {
    std::unique_lock lock(mutex_);
    if (closing_.exchange(true)) return;
    left_.wait(lock, [this] { return calls_ == 0; });
  }
  // Claims that were dropped are being recorded as unknown.
  const SteadyTime give_up = after(machine_clock_.steady(), options_.patience);
  while (engine_->running().executions > held_ && machine_clock_.steady() < give_up) {
    std::this_thread::sleep_for(kIdleCheckEvery);
  }
  engine_->stop();
  context_->stop();
  thread_.join();
  engine_->let_go_of_store();
  // A store that has stopped is not closed: closing would sync again what failed to be synced.
  if (store_->features().exclusive && store_->trouble()) {
    static_cast<void>(store_.release());
  }
  store_.reset();
  engine_->stop();
  context_.reset();
}

v1::Execution::Held::Held(std::shared_ptr<Inside> inside_in, EngineClaim claim_in)
    : inside(std::move(inside_in)), id(claim_in.record->id), claim(std::move(claim_in)) {
  inside->observer_.watch(id, lost);
  ++inside->held_;
}

v1::Execution::Held::~Held() {
  inside->observer_.forget(id, lost);
  claim.hold = nullptr;
  --inside->held_;
}

}  // namespace semel
