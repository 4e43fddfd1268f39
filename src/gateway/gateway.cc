#include "gateway/gateway.h"

#include "gateway/prober.h"

namespace semel {
namespace {

// By how much the clocks of processes that share a store may differ, where the store has none that
// decides.
constexpr Duration kClockSkew = std::chrono::seconds(1);

EngineOptions engine_options(Owner owner, const Store& store) {
  EngineOptions options;
  options.owner = std::move(owner);
  if (!store.features().exclusive && !store.now()) options.skew = kClockSkew;
  return options;
}

}  // namespace

Gateway::Gateway(LogKeys keys, Store& store_in, Metrics& metrics_in, Clock& clock_in,
                 TokenSource& tokens_in, Owner owner, std::string spool_directory)
    : metrics(metrics_in),
      observer(metrics, limits, keys),
      store(store_in),
      clock(clock_in),
      engine(store, clock, tokens_in, observer, engine_options(std::move(owner), store)),
      background(*this),
      spool(std::move(spool_directory)),
      prober(std::make_unique<Prober>(*this)) {
  engine.hand_queued_to([this](QueuedWork work) { background.resume(work); });
  engine.ask_about_kept([this](const Record& kept) { return background.look_at(kept); });
  observer.became_unknown = [this](const Record& record, Time now) {
    prober->became_unknown(record, now);
  };
}

Gateway::~Gateway() = default;

}  // namespace semel
