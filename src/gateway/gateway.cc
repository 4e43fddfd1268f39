#include "gateway/gateway.h"

#include "gateway/prober.h"

namespace semel {
namespace {

EngineOptions engine_options(Owner owner) {
  EngineOptions options;
  options.owner = std::move(owner);
  return options;
}

}  // namespace

Gateway::Gateway(LogKeys keys, Store& store_in, Metrics& metrics_in, Clock& clock_in,
                 TokenSource& tokens_in, Owner owner, std::string spool_directory)
    : metrics(metrics_in),
      observer(metrics, limits, keys),
      store(store_in),
      clock(clock_in),
      engine(store, clock, tokens_in, observer, engine_options(std::move(owner))),
      background(*this),
      spool(std::move(spool_directory)),
      prober(std::make_unique<Prober>(*this)) {
  engine.hand_queued_to([this](QueuedWork work) { background.resume(work); });
  engine.try_lost_again([this](const Record& lost) { return background.try_lost_again(lost); });
  observer.became_unknown = [this](const Record& record, Time now) {
    prober->became_unknown(record, now);
  };
}

Gateway::~Gateway() = default;

}  // namespace semel
