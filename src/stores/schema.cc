#include "stores/schema.h"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>

#include "stores/migrations.h"

namespace semel {
namespace {

constexpr std::string_view kWritten = "semel";  // the schema's name in sql/
constexpr std::string_view kAfterwards = "SELECT semel.close_to_public();\n";

struct Close {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
};
using Connection = std::unique_ptr<PGconn, Close>;
using Rows = std::unique_ptr<PGresult, Close>;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The name stands for the schema where it is followed by a dot, or in a search_path.
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

std::string trouble_of(PGconn* connection) {
  std::string why = PQerrorMessage(connection);
  while (!why.empty() && why.back() == '\n') why.pop_back();
  return why;
}

std::expected<Rows, std::string> run(PGconn* connection, const std::string& statements) {
  Rows rows(PQexec(connection, statements.c_str()));
  const auto status = PQresultStatus(rows.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    return std::unexpected(trouble_of(connection));
  }
  return rows;
}

std::expected<int, std::string> last_applied(PGconn* connection, const std::string& schema) {
  // Ten nodes that start at once do this one after another.
  auto begun =
      run(connection,
          "BEGIN; SET LOCAL client_min_messages = warning; "
          "SELECT pg_advisory_xact_lock(hashtextextended('semel schema " +
              schema +
              "', 0)); "
              "CREATE SCHEMA IF NOT EXISTS " +
              schema +
              "; "
              "CREATE TABLE IF NOT EXISTS " +
              schema +
              ".migrations (number integer PRIMARY KEY, "
              "name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())");
  if (!begun) return std::unexpected(begun.error());
  auto rows = run(connection, "SELECT coalesce(max(number), 0) FROM " + schema + ".migrations");
  if (!rows) return std::unexpected(rows.error());
  return std::stoi(PQgetvalue(rows->get(), 0, 0));
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
  std::string out = "CREATE SCHEMA " + std::string(schema) + ";\n";
  for (const Migration& migration : migrations()) {
    out += "\n-- " + std::string(migration.name) + "\n\n" + with_schema(migration.text, schema);
  }
  return out += "\n" + with_schema(kAfterwards, schema);
}

std::expected<SchemaApplied, std::string> apply_schema(const std::string& url,
                                                       std::string_view schema_name) {
  const std::string schema(schema_name);
  const Connection connection(PQconnectdb(url.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    return std::unexpected(trouble_of(connection.get()));
  }
  const auto from = last_applied(connection.get(), schema);
  if (!from) return std::unexpected(from.error());
  SchemaApplied applied{*from, *from};
  const int known = migrations().back().number;
  if (*from > known) {
    return std::unexpected("the schema " + schema + " is at version " + std::to_string(*from) +
                           ", and this program knows versions up to " + std::to_string(known) +
                           ": use a newer semel");
  }
  for (const Migration& migration : migrations()) {
    if (migration.number <= *from) continue;
    auto done = run(connection.get(), with_schema(migration.text, schema));
    if (!done) return std::unexpected(std::string(migration.name) + ": " + done.error());
    done = run(connection.get(), "INSERT INTO " + schema + ".migrations (number, name) VALUES (" +
                                     std::to_string(migration.number) + ", '" +
                                     std::string(migration.name) + "')");
    if (!done) return std::unexpected(done.error());
    applied.to = migration.number;
  }
  if (applied.to > applied.from) {
    const auto closed = run(connection.get(), with_schema(kAfterwards, schema));
    if (!closed) return std::unexpected(closed.error());
  }
  const auto committed = run(connection.get(), "COMMIT");
  if (!committed) return std::unexpected(committed.error());
  return applied;
}

}  // namespace semel
