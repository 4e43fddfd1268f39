#include "gateway/gateway.h"

#include "gateway/policy_page.h"

namespace semel {
namespace {

EngineOptions engine_options(Owner owner) {
  EngineOptions options;
  options.owner = std::move(owner);
  return options;
}

}  // namespace

Gateway::Gateway(Config config_in, Store& store_in, Metrics& metrics_in, Clock& clock_in,
                 TokenSource& tokens_in, Owner owner)
    : config(std::move(config_in)),
      router(config.routes),
      trusted(config.trusted_proxies),
      metrics(metrics_in),
      observer(metrics, config.log.keys),
      store(store_in),
      clock(clock_in),
      engine(store, clock, tokens_in, observer, engine_options(std::move(owner))),
      policy_page(make_policy_page(config)) {}

}  // namespace semel
