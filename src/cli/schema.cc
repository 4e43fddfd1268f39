#include "postgres/schema.h"

#include <cstdio>

#include "cli/commands.h"
#include "cli/load_config.h"

namespace semel::cli {
namespace {

struct Where {
  std::string config_file;
  std::string url;
  std::string schema = "semel";
};

// Fills in the URL and the schema from the configuration, if one was named.
bool settle(Where& where) {
  if (!where.config_file.empty()) {
    const auto config = load_config(where.config_file);
    if (!config) return false;
    if (config->store.kind != stores::StoreKind::postgres &&
        config->store.kind != stores::StoreKind::tiered) {
      complain(where.config_file + " has no store of kind postgres or tiered", kExitUsage);
      return false;
    }
    where.url = config->store.url;
    where.schema = config->store.schema;
  }
  if (!postgres::is_schema_name(where.schema)) {
    complain("'" + where.schema + "' is not a schema name; use lower-case letters, digits and _",
             kExitUsage);
    return false;
  }
  return true;
}

int apply(Where where) {
  if (!settle(where)) return kExitUsage;
  if (where.url.empty()) {
    return complain("no database given; use --config FILE or --url URL", kExitUsage);
  }
  const auto applied = postgres::apply_schema(where.url, where.schema);
  if (!applied) return complain(applied.error(), kExitFailed);
  const char* functions = applied->functions ? "; functions applied" : "";
  if (applied->from == applied->to) {
    std::printf("schema %s: already at version %d%s\n", where.schema.c_str(), applied->to,
                functions);
  } else {
    std::printf("schema %s: from version %d to %d%s\n", where.schema.c_str(), applied->from,
                applied->to, functions);
  }
  return kExitOk;
}

int print(Where where) {
  if (!settle(where)) return kExitUsage;
  std::fputs(postgres::print_schema(where.schema).c_str(), stdout);
  return kExitOk;
}

void add_options(CLI::App& command, Where& where) {
  add_config_file(command, where.config_file,
                  "A configuration file with store: {kind: postgres} or {kind: tiered}");
  command.add_option("--schema", where.schema, "The name of the schema; without --config")
      ->capture_default_str();
}

}  // namespace

void add_schema(CLI::App& app, Run& run) {
  CLI::App* group = app.add_subcommand("schema", "Manage the tables and functions in PostgreSQL");
  group->group(kGroupSetUp);
  group->require_subcommand(1);
  auto where = std::make_shared<Where>();
  CLI::App* apply_it = group->add_subcommand(
      "apply",
      "Bring the schema up to this program's version; safe to run from many nodes at once");
  add_options(*apply_it, *where);
  apply_it->add_option("--url", where->url, "The database, postgresql://…; instead of --config")
      ->type_name("URL");
  apply_it->callback([&run, where] { run = [where] { return apply(*where); }; });
  CLI::App* print_it = group->add_subcommand("print", "Print what apply does as SQL, for psql");
  add_options(*print_it, *where);
  print_it->callback([&run, where] { run = [where] { return print(*where); }; });
}

}  // namespace semel::cli
