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

// PostgreSQL's binary format, as far as needed: integers, booleans, text, bytea, flat arrays of
// these, and arrays of composites of these.
namespace semel::postgres {

enum class PgType : Oid {
  boolean = 16,
  bytea = 17,
  int8 = 20,
  int2 = 21,
  int4 = 23,
  text = 25,
};

// A parameter of a statement, which knows its type; nullopt is NULL.
struct PgValue {
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
  // `element`: type of the elements, which may be a composite. `elements`: how many will be added.
  PgArray(Oid element, std::size_t elements);
  PgArray(PgType element, std::size_t elements) : PgArray(static_cast<Oid>(element), elements) {}
  void reserve(std::size_t bytes) { out_.reserve(out_.size() + bytes); }
  void add(std::string_view bytes);  // text, bytea or a composite
  void add_number(std::int64_t value);
  PgValue take() &&;

 private:
  int number_bytes_ = 0;
  std::string out_;
};

// Builds a composite, column by column.
class PgComposite {
 public:
  // `columns`: how many will be added. `bytes`: roughly how many bytes they take.
  PgComposite(int columns, std::size_t bytes);
  void add(PgType type, std::string_view bytes);  // text or bytea
  void add_number(PgType type, std::int64_t value);
  void add_null(PgType type);
  std::string take() && { return std::move(out_); }

  // Sets the first column, an int4, of a composite that was taken.
  static void set_first(std::string& composite, std::int32_t value);

 private:
  std::string out_;
};

// The result of a statement, in binary format.
class PgRows {
 public:
  PgRows() = default;  // no result
  explicit PgRows(PGresult* result) : result_(result) {}

  int size() const { return PQntuples(result_.get()); }
  bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  // Valid as long as this object. Empty for NULL.
  std::string_view bytes(int row, int column) const;
  // Reads an integer of any width; 0 for NULL.
  std::int64_t number(int row, int column) const;
  // Reads an array of integers without NULLs. Also empty if it is anything else.
  std::vector<std::int64_t> numbers(int row, int column) const;
  std::vector<std::string_view> all_bytes(int row, int column) const;

  // The time at which a PgConnection sent the statement; not set otherwise.
  std::chrono::steady_clock::time_point asked_at{};

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

}  // namespace semel::postgres
