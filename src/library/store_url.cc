#include "library/store_url.h"

#include <fmt/format.h>

#include <functional>

#include "config/error.h"
#include "config/read_file.h"
#include "config/reading/values.h"
#include "postgres/schema.h"

namespace semel::library {
namespace {

constexpr std::size_t kConnectionsMax = 64;
constexpr std::string_view kKinds =
    "write memory:, embedded:PATH, postgres://…, redis://…, tiered:postgres://…,redis://… or "
    "file:semel.yaml";

using Parsed = std::expected<void, std::string>;

// Calls `take` for each name=value of a query, and returns the first error.
Parsed each_setting(std::string_view query,
                    const std::function<Parsed(std::string_view, std::string_view)>& take) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view one = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    const std::size_t equals = one.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : one.substr(equals + 1);
    if (auto taken = take(one.substr(0, equals), value); !taken) return taken;
  }
  return {};
}

std::expected<std::size_t, std::string> parse_bytes(std::string_view name, std::string_view text) {
  const auto bytes = config::reading::parse_size(text);
  if (!bytes) return std::unexpected(fmt::format("{} '{}' {}", name, text, bytes.error()));
  return static_cast<std::size_t>(*bytes);
}

Parsed take_embedded(stores::StoreConfig& store, std::string_view name, std::string_view value) {
  if (name == "durability") {
    if (value != "power" && value != "crash") {
      return std::unexpected("durability must be power or crash");
    }
    store.durability = value == "crash" ? stores::Durability::crash : stores::Durability::power;
    return {};
  }
  if (name != "cache" && name != "free_bytes_min") {
    return std::unexpected(fmt::format(
        "embedded: has no setting '{}'; there are durability, cache and free_bytes_min", name));
  }
  const auto bytes = parse_bytes(name, value);
  if (!bytes) return std::unexpected(bytes.error());
  if (name == "cache") {
    store.local_cache_bytes = *bytes;
  } else {
    store.free_bytes_min = *bytes;
  }
  return {};
}

Parsed parse_embedded(std::string_view rest, stores::StoreConfig& store) {
  const std::size_t mark = rest.find('?');
  store.kind = stores::StoreKind::embedded;
  store.path = rest.substr(0, mark);
  if (store.path.empty())
    return std::unexpected("embedded: needs a folder, as in embedded:./semel");
  if (mark == std::string_view::npos) return {};
  return each_setting(rest.substr(mark + 1), [&](std::string_view name, std::string_view value) {
    return take_embedded(store, name, value);
  });
}

// Takes what begins with "semel." out of the query and leaves the rest to libpq.
Parsed parse_postgres(std::string_view url, stores::StoreConfig& store) {
  const std::size_t mark = url.find('?');
  store.kind = stores::StoreKind::postgres;
  store.url = url.substr(0, mark);
  if (mark == std::string_view::npos) return {};
  char before = '?';
  return each_setting(url.substr(mark + 1), [&](std::string_view name, std::string_view value) {
    if (!name.starts_with("semel.")) {
      store.url += fmt::format("{}{}={}", before, name, value);
      before = '&';
    } else if (name == "semel.schema") {
      store.schema = value;
      if (!postgres::is_schema_name(store.schema)) {
        return Parsed(std::unexpected("semel.schema is not the name of a schema"));
      }
    } else if (name == "semel.connections") {
      const auto count = config::reading::parse_number(value);
      if (!count || *count < 1 || *count > kConnectionsMax) {
        return Parsed(std::unexpected(
            fmt::format("semel.connections must be a number from 1 to {}", kConnectionsMax)));
      }
      store.connections = static_cast<std::size_t>(*count);
    } else {
      return Parsed(std::unexpected(fmt::format(
          "postgres: has no setting '{}'; there are semel.schema and semel.connections", name)));
    }
    return Parsed();
  });
}

Parsed parse_redis(std::string_view url, stores::StoreConfig& store) {
  store.kind = stores::StoreKind::redis;
  if (const auto parsed = stores::parse_redis_url(url); !parsed) {
    return std::unexpected("the redis URL " + parsed.error());
  }
  store.redis.url = url;
  return {};
}

bool is_postgres(std::string_view url) {
  return url.starts_with("postgres://") || url.starts_with("postgresql://");
}
bool is_redis(std::string_view url) {
  return url.starts_with("redis://") || url.starts_with("rediss://");
}

Parsed parse_tiered(std::string_view rest, stores::StoreConfig& store) {
  const std::size_t comma = rest.rfind(",redis");
  if (!is_postgres(rest) || comma == std::string_view::npos || !is_redis(rest.substr(comma + 1))) {
    return std::unexpected("tiered: needs two URLs, as in tiered:postgres://…,redis://…");
  }
  if (auto parsed = parse_redis(rest.substr(comma + 1), store); !parsed) return parsed;
  auto parsed = parse_postgres(rest.substr(0, comma), store);
  store.kind = stores::StoreKind::tiered;
  return parsed;
}

Parsed read_file(std::string_view path, NamedStore& named) {
  config::ConfigOutcome outcome = config::read_config(std::string(path));
  if (!outcome.config) {
    std::string wrong;
    for (const config::ConfigError& error : outcome.errors) {
      wrong += (wrong.empty() ? "" : "\n") + config::to_string(error);
    }
    return std::unexpected(std::move(wrong));
  }
  if (!outcome.config->hash_key_file.empty()) {
    return std::unexpected(
        fmt::format("{} has a hash_key_file, whose fingerprints only the gateway can make", path));
  }
  named.store = std::move(outcome.config->store);
  named.name_space = std::move(outcome.config->name_space);
  named.hides_keys = outcome.config->store_keys == config::StoreKeys::digest;
  return {};
}

Parsed parse_into(std::string_view url, NamedStore& named) {
  if (url == "memory:") {
    named.store.kind = stores::StoreKind::memory;
    return {};
  }
  if (is_postgres(url)) return parse_postgres(url, named.store);
  if (is_redis(url)) return parse_redis(url, named.store);
  const std::size_t colon = url.find(':');
  const std::string_view kind = url.substr(0, colon);
  const std::string_view rest =
      colon == std::string_view::npos ? std::string_view() : url.substr(colon + 1);
  if (kind == "embedded") return parse_embedded(rest, named.store);
  if (kind == "tiered") return parse_tiered(rest, named.store);
  if (kind == "file") return read_file(rest, named);
  return std::unexpected(fmt::format("this is not the URL of a store: {}", kKinds));
}

}  // namespace

std::expected<NamedStore, std::string> parse_store_url(std::string_view url) {
  NamedStore named;
  if (auto parsed = parse_into(url, named); !parsed) return std::unexpected(parsed.error());
  return named;
}

}  // namespace semel::library
