#pragma once

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "postgres/link.h"
#include "postgres/schema.h"
#include "stores/postgres/store.h"
#include "stores/suite.h"

namespace semel::stores {

// The server that tests/harness/servers/with_postgres.py has started.
inline std::string postgres_url() {
  const char* url = std::getenv("SEMEL_TEST_POSTGRES");
  if (!url) throw std::runtime_error("run it through tests/harness/servers/with_postgres.py");
  return url;
}

// Runs one statement on a connection of the test's own.
inline postgres::PgRows in_postgres(const std::string& statement) {
  auto link = postgres::PgLink::connect(postgres_url());
  if (!link) throw std::runtime_error(link.error());
  auto rows = link->run(statement);
  if (!rows) throw std::runtime_error(statement + ": " + rows.error().why);
  return *std::move(rows);
}

inline std::unique_ptr<Store> open_postgres_or_throw(PostgresOptions options) {
  auto store = open_postgres_store(std::move(options));
  if (!store) throw std::runtime_error(store.error());
  return *std::move(store);
}

// Empties the one schema that all tests use.
inline void empty_postgres() {
  static const bool applied = [] {
    const auto done = postgres::apply_schema(postgres_url(), "semel");
    if (!done) throw std::runtime_error(done.error());
    return true;
  }();
  (void)applied;
  for (const char* table : {"records", "leases", "answers", "chunks", "nodes"}) {
    in_postgres("DELETE FROM semel." + std::string(table));
  }
}

// A PostgreSQL store with nothing in it.
class PostgresHarness final : public StoreHarness {
 public:
  PostgresHarness() {
    empty_postgres();
    reopen();
  }

  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = open_postgres_or_throw({.url = postgres_url()});
  }

 private:
  std::unique_ptr<Store> store_;
};

}  // namespace semel::stores
