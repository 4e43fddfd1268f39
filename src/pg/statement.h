#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "semel/pg.h"

// What every call of this library needs: values in and out of SQL, and the ends of a transaction.
namespace semel::pg {

// `schema`.`function`, quoted.
std::string function_in(PGconn* connection, const std::string& schema, std::string_view function);

std::string id_value(const RecordId& id);
std::string token_value(const Token& token);
std::string interval_value(Duration duration);
std::string headers_value(const Answer& answer);  // [["Name","value"], …]

RecordId id_from(const std::string& bytes);
Token token_from(const std::string& bytes);
// From the columns status, headers, body, which stand next to each other.
Answer answer_from(const Rows& rows, int status_column);

// Throws Error where the connection is not in the state that the caller's contract asks for.
void require_transaction(PGconn* connection);
void require_no_transaction(PGconn* connection);

// Throws unless the server said that it has committed. An aborted transaction answers COMMIT with
// ROLLBACK and no error.
void commit(PGconn* connection);
// Leaves the connection outside of any transaction, if it still works.
void roll_back(PGconn* connection) noexcept;

// Runs `work` in a transaction of its own, which `begin` begins, and commits it. What failed in
// passing (a serialization failure, a deadlock) is run again, a few times; everything else, and the
// last of these, is thrown, with the transaction rolled back.
void run_transaction(PGconn* connection, const char* begin, const std::function<void()>& work);

}  // namespace semel::pg
