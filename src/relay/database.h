#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semel/time.h"

// PostgreSQL for a thread that may block: one connection, one statement at a time, each a
// transaction of its own.
namespace semel::relay {

// What a statement gave, in binary format.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result) {}
  int size() const { return PQntuples(result_.get()); }
  bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  // Of text or bytea; valid as long as this is.
  std::string_view bytes(int row, int column) const;
  // Of an integer of any width; NULL is 0.
  std::int64_t number(int row, int column) const;

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

// The text form of an array, for a parameter.
std::string array_of(std::span<const std::int64_t> numbers);
std::string array_of(std::span<const std::string> texts);

class Database {
 public:
  // The error is a sentence for the operator. A pooler in between is refused: locks and
  // notifications of a session would be somebody else's.
  static std::expected<Database, std::string> connect(const std::string& url);

  // Parameters are texts; nullopt is NULL. After an error the connection is of no use, unless the
  // server merely refused the statement.
  std::expected<Rows, std::string> query(
      const std::string& statement, const std::vector<std::optional<std::string>>& values = {});
  // Statements without parameters or results.
  std::expected<void, std::string> run(const std::string& statements);

  // Waits until there is a notification, `other` is readable, or the time is over. True: there were
  // notifications. The error: the connection is gone.
  std::expected<bool, std::string> wait(int other, Duration timeout);

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  explicit Database(PGconn* connection) : connection_(connection) {}
  std::string trouble() const;
  bool take_notifications();

  std::unique_ptr<PGconn, Finish> connection_;
};

}  // namespace semel::relay
