#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "postgres/schema.h"
#include "semel/completer.h"

namespace semel::pg {

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

// The server that tests/harness/servers/with_postgres.py has started, with the schema in it.
inline std::string server_url() {
  const char* url = std::getenv("SEMEL_TEST_POSTGRES");
  if (!url) throw std::runtime_error("run through tests/harness/servers/with_postgres.py");
  return url;
}

inline Connection connect(const std::string& url = server_url()) {
  Connection connection(PQconnectdb(url.c_str()), PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
  PQsetNoticeProcessor(connection.get(), [](void*, const char*) {}, nullptr);
  return connection;
}

// Effects are rows of `effects`. Each test has keys of its own.
class DatabaseTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto applied = postgres::apply_schema(server_url(), "semel");
    if (!applied) throw std::runtime_error(applied.error());
    query(connect().get(), "CREATE TABLE IF NOT EXISTS public.effects (key text, what text)");
  }

  Call call(std::string key = testing::UnitTest::GetInstance()->current_test_info()->name()) {
    return {.key = std::move(key), .tenant = "shop"};
  }

  static void have_effect(PGconn* connection, const std::string& key, const std::string& what) {
    query(connection, "INSERT INTO public.effects VALUES ($1, $2)", {key, what});
  }

  std::string one(const std::string& statement, const std::vector<Value>& values = {}) {
    const Rows rows = query(look.get(), statement, values);
    return rows.size() == 0 ? "nothing" : std::string(rows.at(0, 0));
  }
  int effects(const std::string& key, const std::string& what = "%") {
    return std::stoi(
        one("SELECT count(*) FROM public.effects WHERE key = $1 AND what LIKE $2", {key, what}));
  }
  std::string state_of(const RecordId& id) {
    return one("SELECT state FROM semel.records WHERE id = $1", {bytes_of(id)});
  }
  // As if its owner had said nothing for longer than the lease, and the wait for a retry was over.
  void let_lease_run_out(const RecordId& id) {
    one("UPDATE semel.records SET lease_until = 1, due_at = 1 WHERE id = $1 RETURNING 1",
        {bytes_of(id)});
    one("UPDATE semel.operations SET next_try_at = 1 WHERE record IN "
        "(SELECT record FROM semel.operations WHERE record = $1 FOR UPDATE SKIP LOCKED) RETURNING "
        "1",
        {bytes_of(id)});
  }
  static std::string bytes_of(const RecordId& id) { return "\\x" + id.hex(); }

  const Operation orders{.name = "orders"};
  Connection a = connect();
  Connection b = connect();
  Connection look = connect();
};

inline Answer created(std::string body = "{}") {
  return {201, {{"Content-Type", "application/json"}}, std::move(body)};
}

}  // namespace semel::pg
