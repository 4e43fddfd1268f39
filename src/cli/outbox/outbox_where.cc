#include "cli/outbox/outbox_where.h"

#include "cli/commands.h"
#include "cli/load_config.h"
#include "postgres/schema.h"

namespace semel::cli {

void add_outbox_where(CLI::App& command, OutboxWhere& where, bool placed) {
  add_config_file(command, where.config_file, "A configuration file with store: {kind: postgres}",
                  placed);
  command.add_option("--url", where.url, "The database, postgresql://…; instead of --config")
      ->type_name("URL");
  command.add_option("--schema", where.schema, "The name of the schema; with --url")
      ->capture_default_str();
}

std::optional<config::Config> settle(OutboxWhere& where) {
  if (where.config_file.empty() == where.url.empty()) {
    complain("no database given; use --config FILE or --url URL", kExitUsage);
    return std::nullopt;
  }
  std::optional<config::Config> config = config::Config{};
  if (!where.config_file.empty()) {
    config = load_config(where.config_file);
    if (!config) return std::nullopt;
    if (config->store.kind != stores::StoreKind::postgres) {
      complain(where.config_file + " has no store of kind postgres", kExitUsage);
      return std::nullopt;
    }
    where.url = config->store.url;
    where.schema = config->store.schema;
  }
  if (!postgres::is_schema_name(where.schema)) {
    complain("'" + where.schema + "' is not a schema name; use lower-case letters, digits and _",
             kExitUsage);
    return std::nullopt;
  }
  return config;
}

}  // namespace semel::cli
