#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postgres/values.h"

namespace semel::postgres {

struct PgError {
  std::string why;
  std::string sqlstate;   // empty: the error does not come from the server
  std::string hint = {};  // what the server advises, if anything
  // The connection ended before the server said what became of the statement.
  bool lost = false;
};

// The SQLSTATEs that this program acts on.
namespace sqlstate {
inline constexpr std::string_view kFeatureNotSupported = "0A000";
inline constexpr std::string_view kReadOnlyTransaction = "25006";
inline constexpr std::string_view kInvalidStatementName = "26000";
inline constexpr std::string_view kInvalidSchemaName = "3F000";
inline constexpr std::string_view kAccessRuleViolations = "42";  // the class
inline constexpr std::string_view kInsufficientPrivilege = "42501";
inline constexpr std::string_view kUndefinedFunction = "42883";
inline constexpr std::string_view kUndefinedTable = "42P01";
inline constexpr std::string_view kLockNotAvailable = "55P03";
}  // namespace sqlstate

// A connection to PostgreSQL whose calls block: for connecting and setting up, away from the
// threads that serve. Hand it to a PgConnection to continue without blocking. One thread at a time.
class PgLink {
 public:
  PgLink() = default;  // no connection; may only be assigned to
  // Sets what the URL leaves open: a short connect timeout, TCP keepalives, a name. If the URL
  // names several hosts, connects to the one that takes writes (target_session_attrs=read-write),
  // wherever it is in the list. The error is a sentence for the operator.
  static std::expected<PgLink, std::string> connect(const std::string& url);
  // Says what is wrong with the URL; nullopt: libpq can read it.
  static std::optional<std::string> trouble_of_url(const std::string& url);

  // Limits how long run(), run_script() and prepare() wait for the server, which may have stopped
  // answering without ending the connection. A statement without a reply by then is `lost`, and the
  // link must not be used any more. By default they wait for ever.
  void set_deadline(std::chrono::steady_clock::time_point deadline) { deadline_ = deadline; }
  std::expected<PgRows, PgError> run(const std::string& statement);
  // Parameters are passed as text; null is NULL.
  std::expected<PgRows, PgError> run(const std::string& statement,
                                     const std::vector<const char*>& values);
  // Runs several statements that return nothing, in one transaction unless they say otherwise.
  // After an error, none that follow are run.
  std::expected<void, PgError> run_script(const std::string& statements);
  std::expected<void, PgError> prepare(const std::string& name, const std::string& statement);
  // As the server reported it when the connection was made.
  int backend_pid() const { return PQbackendPID(connection_.get()); }
  // For libpq's own functions, which block whatever the deadline.
  PGconn* get() const { return connection_.get(); }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  explicit PgLink(PGconn* connection) : connection_(connection) {}
  // Returns the last result of a statement; `sent` is what the call that sent it returned.
  std::expected<PgRows, PgError> reply(int sent);
  // Waits until the socket is ready for one of `events`. False: the deadline has passed, or the
  // connection is gone.
  bool wait_for(short events);
  // Hands the whole statement to the system.
  std::expected<void, PgError> flush();

  std::unique_ptr<PGconn, Finish> connection_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
};

// Returns the error of a failed result; null: that of the connection.
PgError pg_error(PGconn* connection, const PGresult* result);

}  // namespace semel::postgres
