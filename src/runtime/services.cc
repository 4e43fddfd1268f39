#include "runtime/services.h"

#include <cstdlib>

namespace semel::runtime {
namespace {

// Returns where to spool: beside the records if they are on this machine, because that disk is
// watched.
std::string spool_directory(const config::Config& config) {
  if (!config.spool.path.empty()) return config.spool.path;
  if (config.store.kind == stores::StoreKind::embedded) return config.store.path;
  const char* wanted = std::getenv("TMPDIR");
  return wanted && *wanted ? wanted : "/var/tmp";
}

// On the store's disk the spool stops before the store does: uploads alone must not keep new keys
// out.
Spool::Options spool_options(const config::Config& config) {
  const std::uint64_t mark = config.store.free_bytes_min;
  const bool is_beside_records = config.store.kind == stores::StoreKind::embedded;
  return {.directory = spool_directory(config),
          .bytes_max = config.spool.bytes_max,
          .free_bytes_min = is_beside_records ? mark + mark / 4 : mark};
}

EngineOptions engine_options(Owner owner) {
  EngineOptions options;
  options.owner = std::move(owner);
  return options;
}

}  // namespace

Services::Services(Store& store_in, telemetry::Metrics& metrics_in, TenantLimits& limits_in,
                   Observer& observer, Clock& machine_clock, TokenSource& tokens_in, Owner owner,
                   const config::Config& config)
    : metrics(metrics_in),
      limits(limits_in),
      store(store_in),
      engine(store, machine_clock, tokens_in, observer, engine_options(std::move(owner))),
      clock(engine.clock()),
      spool(spool_options(config)) {
  if (config.store.kind == stores::StoreKind::embedded) {
    store_disk.emplace(config.store.path, config.store.free_bytes_min);
  }
}

}  // namespace semel::runtime
