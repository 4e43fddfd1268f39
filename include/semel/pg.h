#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "semel/answer.h"
#include "semel/claim.h"
#include "semel/outcome.h"
#include "semel/time.h"

// Idempotency in one transaction with the effect, for users of libpq: the work for a key is done
// inside the caller's own transaction, and the record commits or is rolled back with it.
//
//   query(connection, "BEGIN");
//   Result result = once(connection, orders, {.key = key, .fingerprint = digest_of(body)}, work);
//   query(connection, "COMMIT");
//
// Use a connection from one thread at a time, as libpq requires. Calls block. Every failure is
// thrown, as an Error or as the exception of the caller's own function: then roll the transaction
// back. Nothing has happened until COMMIT has succeeded. If the reply to COMMIT is lost, ask again
// with the same key: the answer is replayed, or the work is done now.
namespace semel::pg {

// For programs that have `using namespace semel::pg`.
using semel::Answer;
using semel::Claim;
using semel::Header;
using semel::UnknownPolicy;

// A statement failed. sqlstate() is empty if the server did not send one: the connection is lost,
// or the request makes no sense (what() says why).
class Error : public std::runtime_error {
 public:
  Error(std::string sqlstate, const std::string& what)
      : std::runtime_error(what), sqlstate_(std::move(sqlstate)) {}
  const std::string& sqlstate() const { return sqlstate_; }
  // True after a serialization failure or a deadlock: the transaction may succeed if run again.
  bool is_passing() const { return sqlstate_ == "40001" || sqlstate_ == "40P01"; }

 private:
  std::string sqlstate_;
};

// The token is no longer the record's: somebody else has the claim, or the claim has ended. The
// transaction must not take effect and can only be rolled back. SQLSTATE SM001.
class Stale : public Error {
 public:
  using Error::Error;
};

// The rows of a statement, as text. Values stay valid as long as any copy of the rows lives.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result, PQclear) {}
  int size() const { return PQntuples(result_.get()); }
  bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  std::string_view at(int row, int column) const;
  std::string bytes(int row, int column) const;  // of a bytea column
  PGresult* result() const { return result_.get(); }

 private:
  std::shared_ptr<PGresult> result_;
};

using Value = std::optional<std::string>;  // nullopt: NULL

// Runs one statement with the parameters $1, $2 …. Throws Error, also if a value contains a zero
// byte: see bytea(). Prefer it to bare libpq in functions that this library calls, because an Error
// says whether the transaction may simply be run again.
Rows query(PGconn* connection, const std::string& statement, const std::vector<Value>& values = {});

// Returns the bytes as a value for a bytea parameter.
std::string bytea(std::string_view bytes);

// Returns the SHA-256 of the bytes: a fingerprint for requests that are the same only if all their
// bytes are equal.
std::string digest_of(std::string_view bytes);

// The name and the rules of an operation. Make one and use it for all its calls, on any thread.
// Not the engine's semel::Operation (driver/operation.h): that one has rules which semel.claim does
// not know, and neither a name nor a schema.
struct Operation {
  std::string name = {};
  Duration lease = std::chrono::seconds(30);
  Duration ttl = std::chrono::hours(24);
  Duration tombstone{0};
  // Decides about a claim that somebody else made and left without an outcome. A claim made by
  // once() is never left like that: it commits together with its outcome. probe is read as hold.
  UnknownPolicy unknown = UnknownPolicy::hold;
  std::string response_version = "1";
  std::string name_space = "default";
  std::string schema = "semel";  // where `semel schema apply` installed the functions
};

// One delivery of a request: its key, and what must be equal in a retry. A key has a meaning only
// inside its tenant and its operation.
struct Call {
  std::string key = {};
  std::string fingerprint = {};  // compared as bytes; a different one under the key is a mismatch
  std::string tenant = {};
};

// Parses a claim made by the gateway, passed on in the headers Semel-Record (64 hexadecimal digits)
// and Semel-Token (32). Throws Error, which says which header is wrong.
Claim parse_claim(std::string_view record, std::string_view token);

// The result of a request. Only Executed and Replayed have an answer.
struct Executed {
  Answer answer;
  RecordId record;
};
struct Replayed {
  Answer answer;
  RecordId record;
};
struct Mismatch {};        // the key was used for another request
struct Busy {};            // somebody is working under this key now
struct Unknown {};         // an earlier attempt ended without an outcome, and is held
struct Expired {};         // the key is too old to be used again
struct VersionChanged {};  // the key was answered under another response_version
using Result = std::variant<Executed, Replayed, Mismatch, Busy, Unknown, Expired, VersionChanged>;

// Does the work under the claim, and returns its answer. A call to another service inside a
// transaction is repeated if the transaction is: use phases.h for such work.
using Work = std::function<Answer(const Claim&)>;

// Runs inside the caller's transaction: claims the key, calls `work` if it has to be done, and
// completes the record with its answer. Nobody sees any of it before the caller commits; until then
// others under the same key get Busy. From the claim on, a COMMIT that would leave the record
// without its outcome fails (SM001), so a swallowed exception cannot commit half of the work.
Result once(PGconn* connection, const Operation& operation, const Call& call, const Work& work);

// Like once(), but opens and commits a transaction of its own, and runs it again a few times after
// a transient failure (Error::is_passing()).
Result once_by_itself(PGconn* connection, const Operation& operation, const Call& call,
                      const Work& work);

// For executors behind the gateway: complete or release the gateway's claim inside the
// application's transaction. Both throw Stale if the claim has passed to somebody else. `schema`:
// see Operation.
void complete(PGconn* connection, const Claim& claim, const Answer& answer,
              const std::string& schema = "semel");
void release(PGconn* connection, const Claim& claim, std::string_view reason,
             const std::string& schema = "semel");
// Makes COMMIT fail from here on unless this claim was completed.
void guard(PGconn* connection, const Claim& claim, const std::string& schema = "semel");

}  // namespace semel::pg
