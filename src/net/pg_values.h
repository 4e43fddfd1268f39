#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// PostgreSQL's binary format, as far as it is needed: integers, booleans, text, bytea, and flat
// arrays of them.
namespace semel {

enum class PgType : Oid {
  boolean = 16,
  bytea = 17,
  int8 = 20,
  int2 = 21,
  int4 = 23,
  text = 25,
  bytea_array = 1001,
  int2_array = 1005,
  int4_array = 1007,
  text_array = 1009,
  int8_array = 1016,
};

// One parameter of a statement; nullopt is NULL.
struct PgValue {
  PgType type{};
  std::optional<std::string> bytes;
};
PgValue pg_boolean(bool value);
PgValue pg_int4(std::int32_t value);
PgValue pg_int8(std::int64_t value);
PgValue pg_bytea(std::string_view bytes);
PgValue pg_text(std::string_view text);

// Builds an array, element by element.
class PgArray {
 public:
  // `elements`: how many will be added.
  PgArray(PgType array, std::size_t elements);
  void add(std::string_view bytes);  // text or bytea
  void add_number(std::int64_t value);
  void add_null();
  PgValue take() &&;

 private:
  PgType array_;
  int number_bytes_ = 0;
  std::string out_;
};

// What a statement gave, in binary format.
class PgRows {
 public:
  PgRows() = default;  // of nothing
  explicit PgRows(PGresult* result) : result_(result) {}

  int size() const { return PQntuples(result_.get()); }
  bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  // Valid as long as this is. Of NULL: empty.
  std::string_view bytes(int row, int column) const;
  // Of an integer of any width; NULL is 0.
  std::int64_t number(int row, int column) const;
  // Of an array of integers without NULLs. Empty, too, if it is anything else.
  std::vector<std::int64_t> numbers(int row, int column) const;
  std::vector<std::string_view> all_bytes(int row, int column) const;

  // When the statement was sent, where it was by a PgConnection.
  std::chrono::steady_clock::time_point asked_at{};

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

}  // namespace semel
