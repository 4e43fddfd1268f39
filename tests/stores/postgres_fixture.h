#pragma once

#include <gtest/gtest.h>

#include <boost/asio/detached.hpp>
#include <chrono>
#include <thread>
#include <variant>

#include "stores/postgres_harness.h"

// For tests of the PostgreSQL store alone.
namespace semel::stores {

// A session of an application, with transactions of its own.
class Session {
 public:
  Session() : link_(postgres::PgLink::connect(postgres_url()).value()) {}
  postgres::PgRows run(const std::string& statement) {
    auto rows = link_.run(statement);
    if (!rows) throw std::runtime_error(statement + ": " + rows.error().why);
    return *std::move(rows);
  }

 private:
  postgres::PgLink link_;
};

inline std::string literal(const RecordId& id) {
  return "'\\x" + id.hex() + "'";
}

inline std::int64_t number_in_postgres(const std::string& expression) {
  return in_postgres("SELECT " + expression).number(0, 0);
}

inline Time database_time() {
  return Time(Duration(number_in_postgres("semel.now_ms()")));
}

class PostgresStoreTest : public testing::Test {
 protected:
  PostgresStoreTest() {
    empty_postgres();
    store_ = open_postgres_or_throw({.url = postgres_url()});
  }
  Store& store() { return *store_; }
  void close() { store_.reset(); }
  SwapResult swap(const RecordId& id, Version expected, std::optional<Record> next) {
    return run(store_->swap(id, expected, shared(std::move(next))));
  }
  Version apply(const RecordId& id, Version expected, std::optional<Record> next) {
    return std::get<swap::Applied>(swap(id, expected, std::move(next))).version;
  }
  std::optional<Record> read(const RecordId& id) { return value_of(run(store_->read(id)).value()); }
  // Writes make(0) … make(records - 1), all requested at once. Returns their versions.
  template <typename Make>
  std::vector<Version> apply_together(std::uint64_t records, Make make,
                                      std::vector<Version> versions = {}) {
    versions.resize(records);
    boost::asio::io_context io(1);
    auto one = [&](std::uint64_t n) -> boost::asio::awaitable<void> {
      const SwapResult result = co_await store().swap(id_of(n), versions[n], shared(make(n)));
      versions[n] = std::get<swap::Applied>(result).version;
    };
    for (std::uint64_t n = 0; n < records; ++n)
      boost::asio::co_spawn(io, one(n), boost::asio::detached);
    io.run();
    return versions;
  }
  // Calls until it is so.
  template <typename Check>
  static void eventually(Check check) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!check()) {
      ASSERT_LT(std::chrono::steady_clock::now(), give_up);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  // The server has counted what a session did when that is gone. The store is closed.
  static void everything_is_counted() {
    eventually([] {
      return number_in_postgres(
                 "count(*) FROM pg_stat_activity WHERE application_name = 'semel' AND "
                 "pid <> pg_backend_pid()") == 0;
    });
  }

 private:
  std::unique_ptr<Store> store_;
};

}  // namespace semel::stores
