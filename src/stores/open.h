#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "semel/store.h"
#include "stores/embedded.h"

namespace semel {

enum class StoreKind { embedded, memory, postgres };
// power: what was acknowledged survives a power cut. crash: it survives the process being killed.
enum class Durability { power, crash };

struct StoreConfig {
  StoreKind kind = StoreKind::embedded;
  std::string path = "./semel-data";
  Durability durability = Durability::power;
  std::string url;               // postgres: as libpq takes it
  std::string schema = "semel";  // postgres
  std::size_t connections = 4;   // postgres: for records; one more listens for notifications
  std::string keys_file;         // empty: nothing is encrypted
  bool operator==(const StoreConfig&) const = default;
};

// `committed` is told of every group commit, on the store's own thread. The error is a
// sentence for the operator.
std::expected<std::unique_ptr<Store>, std::string> open_store(
    const StoreConfig& config, std::function<void(const GroupCommit&)> committed);

}  // namespace semel
