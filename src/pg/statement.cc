#include "pg/statement.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/hex.h"
#include "base/sha256.h"
#include "base/text.h"

namespace semel::pg {
namespace {

namespace json = boost::json;

constexpr const char* kStaleState = "SM001";

[[noreturn]] void fail(PGconn* connection, const PGresult* result) {
  const char* state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
  std::string what = result ? PQresultErrorMessage(result) : "";
  if (what.empty()) what = PQerrorMessage(connection);
  what.resize(base::without_line_end(what).size());
  if (state && std::string_view(state) == kStaleState) throw Stale(state, what);
  throw Error(state ? state : "", what);
}

template <class Bytes>
Bytes fixed_from(const std::string& bytes) {
  Bytes out;
  if (bytes.size() != out.bytes.size()) throw Error("", "a value has an unexpected length");
  std::ranges::copy(bytes, out.bytes.begin());
  return out;
}

template <class Bytes>
std::string fixed_value(const Bytes& fixed) {
  return bytea({reinterpret_cast<const char*>(fixed.bytes.data()), fixed.bytes.size()});
}

}  // namespace

std::string_view Rows::at(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::string Rows::bytes(int row, int column) const {
  std::size_t size = 0;
  const auto* text = reinterpret_cast<const unsigned char*>(PQgetvalue(result_.get(), row, column));
  const std::unique_ptr<unsigned char, decltype(&PQfreemem)> raw(PQunescapeBytea(text, &size),
                                                                 PQfreemem);
  if (!raw) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(raw.get()), size};
}

Rows query(PGconn* connection, const std::string& statement, const std::vector<Value>& values) {
  std::vector<const char*> pointers;
  for (const Value& value : values) {
    // libpq would end the text at the zero byte, and two keys would become one.
    if (value && value->contains('\0')) {
      throw Error("22021", "a value has a zero byte, which PostgreSQL does not allow in text");
    }
    pointers.push_back(value ? value->c_str() : nullptr);
  }
  Rows rows(PQexecParams(connection, statement.c_str(), static_cast<int>(values.size()), nullptr,
                         pointers.data(), nullptr, nullptr, 0));
  const PGresult* result = rows.result();
  const auto status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(connection, result);
  return rows;
}

std::string bytea(std::string_view bytes) {
  return "\\x" + base::encode_hex(bytes);
}

std::string digest_of(std::string_view bytes) {
  base::Sha256 hash;
  const base::Sha256Digest digest = hash.update(bytes).finish();
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string function_in(PGconn* connection, const std::string& schema, std::string_view function) {
  const std::unique_ptr<char, decltype(&PQfreemem)> quoted(
      PQescapeIdentifier(connection, schema.data(), schema.size()), PQfreemem);
  if (!quoted) fail(connection, nullptr);
  return std::string(quoted.get()) + "." + std::string(function);
}

std::string id_value(const RecordId& id) {
  return fixed_value(id);
}

std::string token_value(const Token& token) {
  return fixed_value(token);
}

std::string interval_value(Duration duration) {
  return std::to_string(duration.count()) + " milliseconds";
}

std::string headers_value(const Answer& answer) {
  json::array headers;
  for (const Header& header : answer.headers) {
    headers.push_back(json::array{header.name, header.value});
  }
  return json::serialize(headers);
}

RecordId id_from(const std::string& bytes) {
  return fixed_from<RecordId>(bytes);
}

Token token_from(const std::string& bytes) {
  return fixed_from<Token>(bytes);
}

Answer answer_from(const Rows& rows, int status_column) {
  Answer answer;
  answer.status = std::stoi(std::string(rows.at(0, status_column)));
  // Has a name because, before C++23's P2718, the temporary would die before the loop begins.
  const json::value headers = json::parse(rows.at(0, status_column + 1));
  for (const json::value& header : headers.as_array()) {
    const json::array& pair = header.as_array();
    answer.headers.push_back({std::string(pair.at(0).as_string()),  //
                              std::string(pair.at(1).as_string())});
  }
  if (rows.is_null(0, status_column + 2)) {
    answer.body_note = BodyNote::omitted;
  } else {
    answer.body = rows.bytes(0, status_column + 2);
  }
  return answer;
}

void require_transaction(PGconn* connection) {
  if (PQtransactionStatus(connection) == PQTRANS_INTRANS) return;
  throw Error("", "the connection is not in a transaction: send BEGIN first");
}

void require_no_transaction(PGconn* connection) {
  if (PQtransactionStatus(connection) == PQTRANS_IDLE) return;
  throw Error(
      "",
      "the connection is in a transaction, busy or closed: each phase is a transaction of its own");
}

void commit(PGconn* connection) {
  const Rows ended = query(connection, "COMMIT");
  if (std::string_view(PQcmdStatus(ended.result())) != "COMMIT") {
    throw Error("25P02", "the transaction had already failed, and was rolled back");
  }
}

void roll_back(PGconn* connection) noexcept {
  if (PQtransactionStatus(connection) == PQTRANS_IDLE) return;
  PQclear(PQexec(connection, "ROLLBACK"));
}

void run_transaction(PGconn* connection, const char* begin, const std::function<void()>& work) {
  constexpr int kTriesMax = 5;
  for (int tries = 1;; ++tries) {
    try {
      query(connection, begin);
      work();
      commit(connection);
      return;
    } catch (const Error& error) {
      roll_back(connection);
      if (!error.is_passing() || tries == kTriesMax) throw;
    } catch (...) {
      roll_back(connection);
      throw;
    }
    // Waits longer each time, and for a random time, so that colliding transactions do not keep in
    // step.
    query(connection, "SELECT pg_sleep(random() * 0.01 * $1::integer)",
          {std::to_string(tries + 1)});
  }
}

}  // namespace semel::pg
