#include "gateway/config_store.h"

#include <fmt/format.h>

#include <array>

#include "stores/schema.h"

namespace semel::config_file {
namespace {

constexpr std::size_t kUrlLengthMax = 4096;
constexpr std::size_t kConnectionsMax = 64;

void read_url(const Field& field, StoreConfig& out) {
  const std::optional<std::string> value = field.text();
  if (!value) return;
  if (!value->starts_with("postgresql://") && !value->starts_with("postgres://")) {
    field.error("must begin with postgresql://, as in postgresql://semel@db.example/semel");
    return;
  }
  field.read(out.url, 1, kUrlLengthMax);
}

void read_schema(const Field& field, StoreConfig& out) {
  const std::optional<std::string> value = field.text();
  if (!value) return;
  if (!is_schema_name(*value)) {
    field.bad_value(
        "must be lower-case letters, digits and '_', 63 at most, and not begin with a "
        "digit or 'pg_'");
    return;
  }
  out.schema = *value;
}

constexpr std::array kStoreKeys = std::to_array<Key<StoreConfig>>({
    {"kind",
     [](const Field& f, StoreConfig& out) {
       read_choice(f,
                   {{"embedded", StoreKind::embedded},
                    {"memory", StoreKind::memory},
                    {"postgres", StoreKind::postgres},
                    {"redis", kLaterChoice},
                    {"tiered", kLaterChoice},
                    {"dynamodb", kLaterChoice}},
                   out.kind);
     }},
    {"path", [](const Field& f, StoreConfig& out) { f.read(out.path, 1, kFilePathLengthMax); }},
    {"durability",
     [](const Field& f, StoreConfig& out) {
       read_choice(f, {{"power", Durability::power}, {"crash", Durability::crash}}, out.durability);
     }},
    {"url", read_url},
    {"schema", read_schema},
    {"connections",
     [](const Field& f, StoreConfig& out) { f.read_count(out.connections, 1, kConnectionsMax); }},
    {"replicas", kLaterKey},
    {"sentinel", kLaterKey},
    {"cluster", kLaterKey},
    {"durable", kLaterKey},
    {"cache", kLaterKey},
    {"cache_for", kLaterKey},
});

// A key, and the only kind of store that looks at it.
struct KeyOf {
  std::string_view name;
  StoreKind kind;
  std::string_view kind_name;
};
constexpr KeyOf kKeysOfKinds[] = {
    {"path", StoreKind::embedded, "embedded"},
    {"durability", StoreKind::embedded, "embedded"},
    {"url", StoreKind::postgres, "postgres"},
    {"schema", StoreKind::postgres, "postgres"},
    {"connections", StoreKind::postgres, "postgres"},
};

}  // namespace

void read_store(const Field& field, StoreConfig& out) {
  read_mapping(field, kStoreKeys, out);
  for (const KeyOf& key : kKeysOfKinds) {
    if (out.kind != key.kind && field.node().find(key.name) != nullptr) {
      field.at(key.name).warn(fmt::format("has an effect with kind: {} only", key.kind_name));
    }
  }
  if (out.kind == StoreKind::postgres && field.node().find("url") == nullptr) {
    field.at("url").error(
        "required with kind: postgres, as in postgresql://semel@db.example/semel");
  }
}

}  // namespace semel::config_file
