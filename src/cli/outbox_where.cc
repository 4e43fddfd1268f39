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
  command.add_option("--url", where.url, "postgresql://…, without --config")->type_name("URL");
  command.add_option("--schema", where.schema, "The schema's name, without --config")
      ->capture_default_str();
}

std::optional<Config> settle(OutboxWhere& where) {
  if (where.config_file.empty() == where.url.empty()) {
    std::fputs("semel: say where: --config FILE or --url URL\n", stderr);
    return std::nullopt;
  }
  std::optional<Config> config = Config{};
  if (!where.config_file.empty()) {
    config = load_config(where.config_file);
    if (!config) return std::nullopt;
    if (config->store.kind != StoreKind::postgres) {
      std::fprintf(stderr, "semel: %s has no store of kind: postgres\n", where.config_file.c_str());
      return std::nullopt;
    }
    where.url = config->store.url;
    where.schema = config->store.schema;
  }
  if (!is_schema_name(where.schema)) {
    std::fprintf(stderr,
                 "semel: '%s' cannot be the name of a schema: use lower-case letters, digits and "
                 "_\n",
                 where.schema.c_str());
    return std::nullopt;
  }
  return config;
}

}  // namespace semel::cli
