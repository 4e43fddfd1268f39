#include "stores/postgres/session.h"

#include <chrono>
#include <utility>
#include <vector>

#include "postgres/schema.h"

namespace semel::stores {
namespace {

// The store's statements are few and known; their plans must not depend on what the planner
// believes about a young table. Committed writes must be durable whatever the role's defaults say,
// and nothing waits long for a lock (nothing should wait at all).
constexpr const char* kSettings = R"(SELECT
  set_config('synchronous_commit',
             CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply'
                  ELSE 'on' END, false),
  set_config('default_transaction_isolation', 'read committed', false),
  set_config('lock_timeout', '1s', false),
  set_config('client_min_messages', 'warning', false),
  set_config('search_path', 'pg_catalog', false),
  set_config('enable_seqscan', 'off', false),
  set_config('enable_hashjoin', 'off', false),
  set_config('enable_mergejoin', 'off', false),
  set_config('plan_cache_mode', 'force_generic_plan', false),
  set_config('jit', 'off', false))";

// An overloaded server may be slow; one that has stopped answering must not block the thread that
// connects.
constexpr auto kSetUpMax = std::chrono::seconds(10);

struct Statement {
  const char* name;
  std::string text;
};

std::vector<Statement> statements(const std::string& schema) {
  using namespace pg_statement;
  const std::string s = schema + ".";
  return {
      {kHello, "SELECT " + s + "hello($1)"},
      {kSwap, "SELECT b.at, b.base, b.versions, (b.found).* FROM " + s +
                  "swap_batch($1, $2, $3, $4, $5, $6, $7) b"},
      {kRead, "SELECT " + s + "now_ms(), p.* FROM " + s + "read_relied_on($1, $2) p"},
      {kSweep, "SELECT " + s + "now_ms(), p.* FROM " + s + "read_page((" + s +
                   "due_ids($1, $2::integer + $4::integer))[$4::integer + 1:], $3) p"},
      {kScan,
       "SELECT " + s + "now_ms(), p.* FROM " + s + "read_page(" + s + "ids_after($1, $2), $3) p"},
      {kListLeases, "SELECT " + s + "list_leases($1, $2)"},
      {kRemoveExpired, "SELECT " + s + "remove_expired($1, $2)"},
      {kPutChunk, "INSERT INTO " + s + "chunks VALUES ($1, $2, $3, $4, " + s +
                      "now_ms()) ON CONFLICT (id, token, index) DO UPDATE SET bytes = "
                      "excluded.bytes, put_at = excluded.put_at"},
      {kGetChunk, "SELECT bytes FROM " + s + "chunks WHERE id = $1 AND token = $2 AND index = $3"},
      {kDropChunks, "DELETE FROM " + s + "chunks WHERE id = $1 AND token = $2"},
      {kAwait, "SELECT id, token, held FROM " + s + "await_batch($1, $2)"},
      {kStats, "SELECT " + s + "now_ms(), count(*), min(unknown_since) FROM " + s +
                   "records WHERE unknown_since IS NOT NULL"},
      {kKeepDays, "SELECT " + s + "keep_days($1)"},
      {kDropOrphans, "SELECT " + s + "drop_orphans($1, $2)"},
      {kStandbys, "SELECT " + s + "may_lose_at_failover()"},
  };
}

PgSessionError unfit(std::string why) {
  return {.why = std::move(why), .unfit = true};
}

}  // namespace

std::expected<PgSession, PgSessionError> open_pg_session(const std::string& url,
                                                         const std::string& schema,
                                                         PgPurpose purpose) {
  auto link = postgres::PgLink::connect(url);
  if (!link) return std::unexpected(PgSessionError{.why = link.error()});
  link->set_deadline(std::chrono::steady_clock::now() + kSetUpMax);
  const auto failed = [](const postgres::PgError& error) {
    return std::unexpected(PgSessionError{.why = error.why});
  };
  const auto pid = link->run("SELECT pg_backend_pid()");
  if (!pid) return failed(pid.error());
  if (pid->number(0, 0) != link->backend_pid()) {
    return std::unexpected(
        unfit("there is a pooler (PgBouncer or the like) between Semel and PostgreSQL, and "
              "sessions with prepared statements and notifications do not survive it; connect to "
              "the server itself, since a process needs few connections"));
  }
  auto misfit = postgres::misfit_of_schema(*link, schema);
  if (!misfit) misfit = postgres::misfit_of_rights(*link, schema);
  if (misfit) {
    return std::unexpected(PgSessionError{.why = std::move(misfit->why), .unfit = misfit->unfit});
  }
  if (const auto set = link->run(kSettings); !set) return failed(set.error());
  const auto types = link->run("SELECT '" + schema + ".swap_item'::regtype::oid, '" + schema +
                               ".answer_item'::regtype::oid");
  if (!types) return failed(types.error());
  for (const Statement& statement : statements(schema)) {
    const auto prepared = link->prepare(statement.name, statement.text);
    if (!prepared) return failed(prepared.error());
  }
  if (purpose == PgPurpose::listening) {
    if (const auto listening = link->run("LISTEN semel"); !listening) {
      return failed(listening.error());
    }
  }
  return PgSession{*std::move(link),
                   {.swap_item = static_cast<Oid>(types->number(0, 0)),
                    .answer_item = static_cast<Oid>(types->number(0, 1))}};
}

}  // namespace semel::stores
