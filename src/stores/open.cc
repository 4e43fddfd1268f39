#include "stores/open.h"

#include "stores/memory.h"
#include "stores/postgres.h"
#include "stores/sealed.h"

namespace semel {
namespace {

std::expected<std::unique_ptr<Store>, std::string> open_plain(
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
    case StoreKind::postgres:
      return PostgresStore::open({.url = config.url,
                                  .schema = config.schema,
                                  .connections = config.connections,
                                  .committed = std::move(committed)});
  }
  return std::unexpected("no such kind of store");
}

}  // namespace

std::expected<std::unique_ptr<Store>, std::string> open_store(
    const StoreConfig& config, std::function<void(const GroupCommit&)> committed) {
  if (config.keys_file.empty()) return open_plain(config, std::move(committed));
  auto keys = read_sealing_keys(config.keys_file);
  if (!keys) return std::unexpected(std::move(keys).error());
  auto plain = open_plain(config, std::move(committed));
  if (!plain) return plain;
  return std::make_unique<SealedStore>(*std::move(plain), *std::move(keys));
}

}  // namespace semel
