#include "relay/outbox_admin.h"

#include "base/array_text.h"

namespace semel::relay {

std::expected<OutboxAdmin, std::string> OutboxAdmin::open(const std::string& url,
                                                          const std::string& schema) {
  auto database = postgres::PgBlocking::connect(url, schema);
  if (!database) return std::unexpected(std::move(database.error()));
  auto prepared = database->run("SET search_path = pg_catalog");
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  return OutboxAdmin(*std::move(database), schema);
}

std::expected<std::vector<OutboxRow>, std::string> OutboxAdmin::list(const OutboxFilter& filter,
                                                                     std::int64_t after,
                                                                     std::size_t rows_max) {
  const auto rows = database_.query(
      "SELECT id, state, destination, ordering_key, attempts, coalesce(last_error, ''), " +
          schema_ +
          ".now_ms() - enqueued_at, CASE WHEN state IN ('waiting', 'leased') THEN "
          "due_at - " +
          schema_ + ".now_ms() END, length(payload) FROM " + schema_ +
          ".outbox_rows WHERE id > $1 AND ($2::text IS NULL OR destination = $2) "
          "AND (NOT $3::boolean OR state IN ('dead', 'blocked')) ORDER BY id LIMIT $4",
      {std::to_string(after), filter.destination, filter.dead_only ? "true" : "false",
       std::to_string(rows_max)});
  if (!rows) return std::unexpected(rows.error());
  std::vector<OutboxRow> out;
  for (int i = 0; i < rows->size(); ++i) {
    OutboxRow& row = out.emplace_back();
    row.id = rows->number(i, 0);
    row.state = rows->bytes(i, 1);
    row.destination = rows->bytes(i, 2);
    if (!rows->is_null(i, 3)) row.ordering_key = rows->bytes(i, 3);
    row.attempts = rows->number(i, 4);
    row.last_error = rows->bytes(i, 5);
    row.age = Duration(rows->number(i, 6));
    if (!rows->is_null(i, 7)) row.due_in = Duration(rows->number(i, 7));
    row.payload_bytes = rows->number(i, 8);
  }
  return out;
}

std::expected<std::vector<std::int64_t>, std::string> OutboxAdmin::retry(
    const std::vector<std::int64_t>& ids) {
  return call("outbox_retry", ids);
}

std::expected<std::vector<std::int64_t>, std::string> OutboxAdmin::drop(
    const std::vector<std::int64_t>& ids) {
  return call("outbox_drop", ids);
}

std::expected<std::vector<std::int64_t>, std::string> OutboxAdmin::call(
    const std::string& function, const std::vector<std::int64_t>& ids) {
  const auto rows =
      database_.query("SELECT " + schema_ + "." + function + "($1)", {base::array_text(ids)});
  if (!rows) return std::unexpected(rows.error());
  std::vector<std::int64_t> found;
  for (int i = 0; i < rows->size(); ++i) found.push_back(rows->number(i, 0));
  return found;
}

}  // namespace semel::relay
