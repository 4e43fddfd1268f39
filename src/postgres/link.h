#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "postgres/values.h"

namespace semel {

struct PgError {
  std::string why;
  std::string sqlstate;  // empty: it is not the server that says so
  // The connection ended before the server had said what became of the statement.
  bool lost = false;
};

// As PQconnectdb, for every connection of the program: what the URL leaves open is set, a short
// connect timeout, TCP keepalives, a name. Where it names several hosts, the one that takes writes
// is meant (target_session_attrs=read-write), wherever in the list it stands.
PGconn* open_pg(const std::string& url);

// A connection to PostgreSQL whose calls block: for connecting and setting up, off the threads that
// serve. Hand it to a PgConnection to go on without blocking. One thread at a time.
class PgLink {
 public:
  PgLink() = default;  // of nothing; only to be assigned to
  // By open_pg(). The error is a sentence for the operator.
  static std::expected<PgLink, std::string> connect(const std::string& url);
  // nullopt: libpq can read the URL.
  static std::optional<std::string> trouble_of_url(const std::string& url);

  // Until when run() and prepare() wait for the server, which may have stopped answering without
  // ending the connection. What has no reply by then is `lost`, and the link of no more use. At
  // first they wait for ever.
  void set_deadline(std::chrono::steady_clock::time_point deadline) { deadline_ = deadline; }
  std::expected<PgRows, PgError> run(const std::string& statement);
  // With parameters, as texts; null is NULL.
  std::expected<PgRows, PgError> run(const std::string& statement,
                                     const std::vector<const char*>& values);
  std::expected<void, PgError> prepare(const std::string& name, const std::string& statement);
  // As the server said when the connection was made.
  int backend_pid() const { return PQbackendPID(connection_.get()); }
  PGconn* get() const { return connection_.get(); }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  explicit PgLink(PGconn* connection) : connection_(connection) {}
  // The last result of the statement whose sending began with `sent`.
  std::expected<PgRows, PgError> reply(int sent);
  // Until the socket is ready for one of `events`. False: the deadline has passed, or the
  // connection is gone.
  bool wait_for(short events);
  // All of the statement is with the system.
  std::expected<void, PgError> flush();

  std::unique_ptr<PGconn, Finish> connection_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
};

// The error of a failed result; null: of the connection.
PgError pg_error(PGconn* connection, const PGresult* result);

}  // namespace semel
