#include "postgres/outbox_summary.h"

#include <fmt/format.h>

#include "postgres/blocking.h"

namespace semel::postgres {
namespace {

constexpr std::size_t kMessagesMax = 10'000;

std::optional<std::string> text_at(const PgRows& rows, int row, int column) {
  if (rows.is_null(row, column)) return std::nullopt;
  return std::string(rows.bytes(row, column));
}

Time time_at(const PgRows& rows, int row, int column) {
  return Time(Duration(rows.number(row, column)));
}

std::expected<void, std::string> read_lanes(PgBlocking& database, const std::string& schema,
                                            std::size_t rows_max, std::vector<OutboxLane>& out) {
  const auto rows = database.query(
      fmt::format("SELECT destination, ordering_key, count(*), "
                  "count(*) FILTER (WHERE state = 'blocked'), max(attempts)::bigint, "
                  "min(due_at) FILTER (WHERE state <> 'blocked') AS due, "
                  "(array_agg(last_error ORDER BY id) FILTER (WHERE last_error IS NOT NULL))[1] "
                  "FROM (SELECT * FROM {}.outbox_rows WHERE state <> 'dead' ORDER BY id LIMIT {}) "
                  "AS looked_at GROUP BY destination, ordering_key "
                  "ORDER BY due NULLS FIRST, destination, ordering_key LIMIT {}",
                  schema, kMessagesMax, rows_max));
  if (!rows) return std::unexpected(rows.error());
  for (int i = 0; i < rows->size(); ++i) {
    OutboxLane& lane = out.emplace_back();
    lane.destination = rows->bytes(i, 0);
    lane.ordering_key = text_at(*rows, i, 1);
    lane.waiting = rows->number(i, 2);
    lane.is_blocked = rows->number(i, 3) > 0;
    lane.attempts = rows->number(i, 4);
    if (!rows->is_null(i, 5)) lane.due_at = time_at(*rows, i, 5);
    lane.last_error = text_at(*rows, i, 6).value_or("");
  }
  return {};
}

std::expected<void, std::string> read_dead(PgBlocking& database, const std::string& schema,
                                           std::size_t rows_max,
                                           std::vector<OutboxDeadLetter>& out) {
  const auto rows = database.query(
      fmt::format("SELECT id, destination, ordering_key, attempts::bigint, last_error, "
                  "enqueued_at, died_at FROM {}.dead_letters ORDER BY id DESC LIMIT {}",
                  schema, rows_max));
  if (!rows) return std::unexpected(rows.error());
  for (int i = 0; i < rows->size(); ++i) {
    OutboxDeadLetter& dead = out.emplace_back();
    dead.id = rows->number(i, 0);
    dead.destination = rows->bytes(i, 1);
    dead.ordering_key = text_at(*rows, i, 2);
    dead.attempts = rows->number(i, 3);
    dead.last_error = text_at(*rows, i, 4).value_or("");
    dead.enqueued_at = time_at(*rows, i, 5);
    dead.died_at = time_at(*rows, i, 6);
  }
  return {};
}

}  // namespace

std::expected<OutboxSummary, std::string> read_outbox(const std::string& url,
                                                      const std::string& schema,
                                                      std::size_t rows_max) {
  auto database = PgBlocking::connect(url, schema);
  if (!database) return std::unexpected(std::move(database.error()));
  if (auto prepared = database->run("SET search_path = pg_catalog"); !prepared) {
    return std::unexpected(std::move(prepared.error()));
  }
  OutboxSummary summary;
  if (auto read = read_lanes(*database, schema, rows_max, summary.lanes); !read) {
    return std::unexpected(std::move(read.error()));
  }
  if (auto read = read_dead(*database, schema, rows_max, summary.dead); !read) {
    return std::unexpected(std::move(read.error()));
  }
  return summary;
}

}  // namespace semel::postgres
