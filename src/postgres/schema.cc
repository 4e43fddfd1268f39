#include "postgres/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/hex.h"
#include "base/sha256.h"
#include "postgres/link.h"
#include "postgres/migrations.h"

namespace semel::postgres {
namespace {

constexpr std::string_view kWritten = "semel";  // the schema's name in sql/
// The number of the functions' row in semel.migrations. Older programs look at the largest number
// only.
constexpr int kFunctionsRow = 0;
// Altering a table must not wait for long, because everybody else would queue behind it. If another
// transaction has the table open, the attempt is repeated from time to time.
constexpr int kTriesMax = 30;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Replaces the name where it means the schema: followed by a dot, or in a search_path.
std::string with_schema(std::string_view text, std::string_view schema) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = text.find(kWritten);
    if (at == text.npos) break;
    const std::string_view rest = text.substr(at + kWritten.size());
    const bool begins_word = at == 0 || !is_word(text[at - 1]);
    const bool is_path = text.substr(0, at).ends_with("search_path = ") && rest.starts_with(",");
    const bool names_schema =
        begins_word && ((rest.size() > 1 && rest[0] == '.' && is_word(rest[1])) || is_path);
    out += text.substr(0, at);
    out += names_schema ? schema : kWritten;
    text = rest;
  }
  return out += text;
}

std::string checksum_of(std::string_view text) {
  const base::Sha256Digest digest = base::sha256(text);
  return base::encode_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

const std::string& functions_text() {
  static const std::string text = [] {
    std::string all;
    for (const std::string_view file : function_files()) all += file;
    return all;
  }();
  return text;
}

const std::string& functions_checksum() {
  static const std::string checksum = checksum_of(functions_text());
  return checksum;
}

int last_known() {
  return migrations().back().number;
}

// The scripts: `semel` in them is replaced by the schema's name -----------------------------------

// The lock makes nodes that start at the same time do this one after another.
std::string begin_script(std::string_view schema) {
  return fmt::format(
      R"(BEGIN;
SET LOCAL client_min_messages = warning;
SET LOCAL search_path = pg_catalog;
SELECT pg_advisory_xact_lock(hashtextextended('semel schema {0}', 0));
SET LOCAL lock_timeout = '2s';
DO $begin$
BEGIN
  IF to_regnamespace('{0}') IS NULL THEN CREATE SCHEMA {0}; END IF;
  IF to_regclass('{0}.migrations') IS NULL THEN
    CREATE TABLE {0}.migrations (number integer PRIMARY KEY, name text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT clock_timestamp(), checksum text, applied_by text);
  END IF;
  PERFORM FROM pg_attribute
  WHERE attrelid = '{0}.migrations'::regclass AND attname = 'checksum' AND NOT attisdropped;
  IF NOT FOUND THEN
    ALTER TABLE {0}.migrations ADD COLUMN checksum text, ADD COLUMN applied_by text;
  END IF;
END $begin$;
)",
      schema);
}

std::string refusal_script(std::string_view schema) {
  return fmt::format(
      R"(DO $refuse$
DECLARE
  last integer := (SELECT max(number) FROM {0}.migrations);
  applier text := (SELECT applied_by FROM {0}.migrations WHERE number = {1});
BEGIN
  IF last > {2} THEN
    RAISE EXCEPTION 'the schema {0} is at version %, and this program knows versions up to {2}: use a newer semel', last;
  ELSIF applier ~ '^[0-9.]+$' AND string_to_array(applier, '.')::int[] > string_to_array('{3}', '.')::int[] THEN
    RAISE EXCEPTION 'the functions of the schema {0} are those of semel %, and this is {3}: use a newer semel', applier;
  END IF;
END $refuse$;
)",
      schema, kFunctionsRow, last_known(), SEMEL_VERSION);
}

std::string migration_script(const Migration& migration, std::string_view schema) {
  return fmt::format(
      R"(
DO $file$
DECLARE
  was {0}.migrations;
BEGIN
  SELECT m.* INTO was FROM {0}.migrations m WHERE m.number = {1};
  IF was.number IS NULL THEN
    EXECUTE $text$
{4}$text$;
    INSERT INTO {0}.migrations (number, name, checksum, applied_by)
    VALUES ({1}, '{2}', '{3}', '{5}');
  ELSIF was.checksum IS DISTINCT FROM '{3}' THEN
    RAISE EXCEPTION '{2} was applied to the schema {0} with a different text than this program has';
  END IF;
END $file$;
)",
      schema, migration.number, migration.name, checksum_of(migration.text),
      with_schema(migration.text, schema), SEMEL_VERSION);
}

std::string functions_script(std::string_view schema) {
  return fmt::format(
      R"(
DO $file$
BEGIN
  PERFORM FROM {0}.migrations WHERE number = {1} AND checksum = '{2}';
  IF NOT FOUND THEN
    EXECUTE $text$
{3}$text$;
    INSERT INTO {0}.migrations (number, name, checksum, applied_by)
    VALUES ({1}, 'functions', '{2}', '{4}')
    ON CONFLICT (number) DO UPDATE SET checksum = excluded.checksum, applied_by = excluded.applied_by,
      applied_at = clock_timestamp();
  END IF;
END $file$;
)",
      schema, kFunctionsRow, functions_checksum(), with_schema(functions_text(), schema),
      SEMEL_VERSION);
}

std::string main_script(std::string_view schema) {
  std::string out = refusal_script(schema) + "\n" + with_schema(adoption(), schema);
  for (const Migration& migration : migrations()) out += migration_script(migration, schema);
  return out += functions_script(schema);
}

// Applying
// ------------------------------------------------------------------------------------------

struct SchemaState {
  int last = 0;
  std::string functions;  // their checksum
};

std::expected<SchemaState, PgError> state_of(PgLink& link, const std::string& schema) {
  const auto rows = link.run(
      fmt::format("SELECT coalesce(max(number), 0), max(checksum) FILTER (WHERE number = {}) "
                  "FROM {}.migrations",
                  kFunctionsRow, schema));
  if (!rows) return std::unexpected(rows.error());
  return SchemaState{static_cast<int>(rows->number(0, 0)), std::string(rows->bytes(0, 1))};
}

std::expected<SchemaApplied, PgError> try_to_apply(PgLink& link, const std::string& schema) {
  auto begun = link.run_script(begin_script(schema));
  if (!begun) return std::unexpected(std::move(begun.error()));
  const auto before = state_of(link, schema);
  if (!before) return std::unexpected(before.error());
  auto done = link.run_script(main_script(schema));
  if (!done) return std::unexpected(std::move(done.error()));
  const auto after = state_of(link, schema);
  if (!after) return std::unexpected(after.error());
  auto committed = link.run_script("COMMIT");
  if (!committed) return std::unexpected(std::move(committed.error()));
  return SchemaApplied{before->last, after->last, before->functions != after->functions};
}

std::string with_hint(PgError error) {
  return error.hint.empty() ? std::move(error.why) : error.why + ". " + error.hint;
}

// Judging
// -------------------------------------------------------------------------------------------

SchemaMisfit unfit_schema(std::string why) {
  return {.why = std::move(why), .unfit = true};
}

// Ends a sentence about a missing right.
std::string grant_for(const PgLink& link, const std::string& schema) {
  const char* user = PQuser(link.get());
  return fmt::format(
      ": as the schema's owner, allow the gateway or relay with SELECT {}.allow_gateway('{}')",
      schema, user ? user : "…");
}

SchemaMisfit misfit_of_error(const PgLink& link, const PgError& error, const std::string& schema) {
  if (error.sqlstate == sqlstate::kInvalidSchemaName) {
    return unfit_schema("the database has no schema " + schema + ": run semel schema apply");
  }
  if (error.sqlstate == sqlstate::kUndefinedFunction ||
      error.sqlstate == sqlstate::kUndefinedTable) {
    return unfit_schema("the schema " + schema +
                        " is incomplete or has an older layout: run semel schema apply");
  }
  if (error.sqlstate == sqlstate::kInsufficientPrivilege)
    return unfit_schema(error.why + grant_for(link, schema));
  return {.why = error.why};
}

}  // namespace

bool is_schema_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= 63 && !(name[0] >= '0' && name[0] <= '9') &&
         !name.starts_with("pg_") && std::ranges::all_of(name, fits);
}

std::string print_schema(std::string_view schema) {
  return "-- For psql -v ON_ERROR_STOP=1. Does what semel schema apply does, and may be run "
         "again.\n" +
         begin_script(schema) + main_script(schema) + "\nCOMMIT;\n";
}

std::expected<SchemaApplied, std::string> apply_schema(const std::string& url,
                                                       std::string_view schema_name) {
  const std::string schema(schema_name);
  auto link = PgLink::connect(url);
  if (!link) return std::unexpected(std::move(link.error()));
  for (int tries = 1;; ++tries) {
    auto applied = try_to_apply(*link, schema);
    if (applied) return *std::move(applied);
    if (applied.error().sqlstate != sqlstate::kLockNotAvailable || tries == kTriesMax) {
      return std::unexpected(with_hint(std::move(applied.error())));
    }
    if (auto undone = link->run_script("ROLLBACK"); !undone) {
      return std::unexpected(with_hint(std::move(undone.error())));
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

std::optional<SchemaMisfit> misfit_of_schema(PgLink& link, const std::string& schema) {
  const auto rows = link.run("SELECT number, name, checksum, applied_by FROM " + schema +
                             ".applied_migrations() ORDER BY number");
  if (!rows) return misfit_of_error(link, rows.error(), schema);
  const std::int64_t found = rows->size() > 0 ? rows->number(rows->size() - 1, 0) : 0;
  const std::string at = "the schema " + schema + " is at version " + std::to_string(found);
  if (found > last_known()) {
    return unfit_schema(at + ", and this program knows versions up to " +
                        std::to_string(last_known()) + ": use a newer semel");
  }
  std::map<std::int64_t, int> row_of;
  for (int row = 0; row < rows->size(); ++row) row_of[rows->number(row, 0)] = row;
  for (const Migration& migration : migrations()) {
    const auto row = row_of.find(migration.number);
    if (row == row_of.end()) {
      return unfit_schema(at + ", and this program needs version " + std::to_string(last_known()) +
                          ": run semel schema apply");
    }
    if (rows->bytes(row->second, 2) != checksum_of(migration.text)) {
      return unfit_schema(
          std::string(migration.name) + " was applied to the schema " + schema +
          " with a different text than this program has: use the semel that applied it (" +
          std::string(rows->bytes(row->second, 3)) + "), or create the schema again");
    }
  }
  const auto functions = row_of.find(kFunctionsRow);
  if (functions == row_of.end() || rows->bytes(functions->second, 2) != functions_checksum()) {
    return unfit_schema("the functions of the schema " + schema +
                        " are not those of this program: run "
                        "semel schema apply, of the newest version that uses it");
  }
  return std::nullopt;
}

std::optional<SchemaMisfit> misfit_of_rights(PgLink& link, const std::string& schema) {
  const auto missing = link.run("SELECT " + schema + ".missing_rights()");
  if (!missing) return misfit_of_error(link, missing.error(), schema);
  if (missing->is_null(0, 0)) return std::nullopt;
  return unfit_schema(std::string(missing->bytes(0, 0)) + grant_for(link, schema));
}

}  // namespace semel::postgres
