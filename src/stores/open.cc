#include "stores/open.h"

#include "stores/memory.h"

namespace semel {

std::expected<std::unique_ptr<Store>, std::string> open_store(
    const StoreConfig& config, std::function<void(const GroupCommit&)> committed) {
  switch (config.kind) {
    case StoreKind::memory:
      return std::make_unique<MemoryStore>();
    case StoreKind::embedded: {
      EmbeddedOptions options;
      options.path = config.path;
      options.sync = config.durability == Durability::power;
      options.committed = std::move(committed);
      return EmbeddedStore::open(options);
    }
  }
  return std::unexpected("no such kind of store");
}

}  // namespace semel
