#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "semel/pg.h"

// Helpers for every call of this library: values in and out of SQL, and the end of a transaction.
namespace semel::pg {

// Returns `schema`.`function`, quoted.
std::string function_in(PGconn* connection, const std::string& schema, std::string_view function);

std::string id_value(const RecordId& id);
std::string token_value(const Token& token);
std::string interval_value(Duration duration);
std::string headers_value(const Answer& answer);  // [["Name","value"], …]

RecordId id_from(const std::string& bytes);
Token token_from(const std::string& bytes);
// Reads the adjacent columns status, headers and body.
Answer answer_from(const Rows& rows, int status_column);

// Throws Error if the connection is not in the state that the caller's contract requires.
void require_transaction(PGconn* connection);
void require_no_transaction(PGconn* connection);

// Throws unless the server says that it has committed: it answers the COMMIT of an aborted
// transaction with ROLLBACK and no error.
void commit(PGconn* connection);
// Leaves the connection outside any transaction, if it still works.
void roll_back(PGconn* connection) noexcept;

// Runs `work` in its own transaction, begun by `begin`, and commits it. After a transient failure
// (a serialization failure, a deadlock) runs it again, a few times. Rolls back and throws any other
// failure, and the last transient one.
void run_transaction(PGconn* connection, const char* begin, const std::function<void()>& work);

}  // namespace semel::pg
