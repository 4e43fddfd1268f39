#include "cli/outbox_where.h"

#include <cstdio>

#include "cli/load_config.h"
#include "postgres/schema.h"

namespace semel::cli {

void add_outbox_where(CLI::App& command, OutboxWhere& where) {
  command
      .add_option("--config", where.config_file,
                  "A configuration file with store: {kind: postgres}")
      ->type_name("FILE");
  command.add_option("--url", where.url, "The database, postgresql://…; instead of --config")
      ->type_name("URL");
  command.add_option("--schema", where.schema, "The name of the schema; with --url")
      ->capture_default_str();
}

std::optional<config::Config> settle(OutboxWhere& where) {
  if (where.config_file.empty() == where.url.empty()) {
    std::fputs("semel: no database given; use --config FILE or --url URL\n", stderr);
    return std::nullopt;
  }
  std::optional<config::Config> config = config::Config{};
  if (!where.config_file.empty()) {
    config = load_config(where.config_file);
    if (!config) return std::nullopt;
    if (config->store.kind != stores::StoreKind::postgres) {
      std::fprintf(stderr, "semel: %s has no store of kind postgres\n", where.config_file.c_str());
      return std::nullopt;
    }
    where.url = config->store.url;
    where.schema = config->store.schema;
  }
  if (!postgres::is_schema_name(where.schema)) {
    std::fprintf(stderr, "semel: '%s' is not a schema name; use lower-case letters, digits and _\n",
                 where.schema.c_str());
    return std::nullopt;
  }
  return config;
}

}  // namespace semel::cli
