#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "semel/policy.h"
#include "semel/record.h"

// One transaction with the effect, for users of libpq: what a key stands for is done inside the
// caller's own transaction, and the record commits or is rolled back with it.
//
// A connection is used by one thread at a time, as libpq has it. Calls block. Whatever goes wrong
// is thrown, as an Error or as what the caller's own function threw: roll the transaction back
// then. Nothing has happened until COMMIT has said so; if the reply to COMMIT is lost, ask again
// with the same key: the answer is replayed, or the work is done now.
namespace semel::pg {

// What a program says that has `using namespace semel::pg`.
using semel::Answer;
using semel::Header;
using semel::UnknownPolicy;

// A statement failed. `sqlstate` is empty where the server did not say one: the connection is gone,
// or what was asked makes no sense (`what` says).
class Error : public std::runtime_error {
 public:
  Error(std::string sqlstate, const std::string& what)
      : std::runtime_error(what), sqlstate_(std::move(sqlstate)) {}
  const std::string& sqlstate() const { return sqlstate_; }
  // A serialization failure or a deadlock: the same transaction may succeed if it is run again.
  bool is_passing() const { return sqlstate_ == "40001" || sqlstate_ == "40P01"; }

 private:
  std::string sqlstate_;
};

// The token is no longer the record's: somebody else has the claim, or it has ended. The effect of
// this transaction must not be, and the transaction can only be rolled back. SQLSTATE SM001.
class Stale : public Error {
 public:
  using Error::Error;
};

// What a statement gave, as text. Values stay valid as long as any copy of the rows lives.
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

// Runs one statement with $1, $2 …. Throws Error, also where a value has a zero byte: see bytea().
// To be preferred to bare libpq inside of what this library runs, because an Error says whether the
// transaction may simply be run again.
Rows query(PGconn* connection, const std::string& statement, const std::vector<Value>& values = {});

// As a value for a bytea parameter.
std::string bytea(std::string_view bytes);

// SHA-256 of the bytes: a fingerprint for requests that are the same only if all bytes are.
std::string digest_of(std::string_view bytes);

// What is claimed, and by which rules.
struct Claim {
  std::string tenant = {};
  std::string operation = {};
  std::string key = {};
  std::string fingerprint = {};  // another one under the same key is a mismatch; compared as bytes
  Duration lease = std::chrono::seconds(30);
  Duration ttl = std::chrono::hours(24);
  Duration tombstone{0};
  // What becomes of a claim that somebody else made and left behind without an outcome. What is
  // claimed by once() itself is never left so: it commits with its outcome.
  UnknownPolicy unknown = UnknownPolicy::hold;
  std::string response_version = "1";
  std::string name_space = "default";
  std::string schema = "semel";  // where `semel schema apply` has put the functions
};

// A claim that was made by the gateway, as its headers Semel-Record and Semel-Token hand it on.
struct Handed {
  RecordId record;
  Token token;
  std::uint32_t attempt = 1;
  std::string schema = "semel";
};

// From 64 and 32 hexadecimal digits. The error says which header is wrong.
std::expected<Handed, std::string> handed(std::string_view record, std::string_view token);

// What became of a request. Only the first two have an answer.
struct Executed {
  Answer answer;
  RecordId record;
};
struct Replayed {
  Answer answer;
  RecordId record;
};
struct Mismatch {};        // the key was used for another request
struct Busy {};            // somebody is at work under this key now
struct Unknown {};         // an earlier attempt ended without an outcome, and is held
struct Expired {};         // the key is too old to be used again
struct VersionChanged {};  // it was answered under another response_version
using Result = std::variant<Executed, Replayed, Mismatch, Busy, Unknown, Expired, VersionChanged>;

// What the work knows of the claim it is done under.
struct Context {
  RecordId record;
  Token token;
  std::uint32_t attempt = 1;
  // The stable key for a call that is made meanwhile: derive.h. A call to somebody else inside a
  // transaction is made again if the transaction is: see phases.h for such work.
  std::string derive(std::string_view label) const;
};

using Work = std::function<Answer(const Context&)>;

// Inside the caller's transaction: claims the key, does the work if it is to be done, and completes
// the record with its answer. Nobody sees any of it before the caller commits; until then others
// under the same key are told Busy. From the claim on, a COMMIT that would leave the record without
// its outcome fails (SM001), so that an exception that was swallowed cannot commit half of it.
Result once(PGconn* connection, const Claim& claim, const Work& work);

// The same in a transaction of its own, which is run again a few times where it failed in passing.
Result once_by_itself(PGconn* connection, const Claim& claim, const Work& work);

// Behind the gateway, inside the application's transaction. Throws Stale if the claim has passed to
// somebody else.
void complete(PGconn* connection, const Handed& handed, const Answer& answer);
void release(PGconn* connection, const Handed& handed, std::string_view reason);
// From here on COMMIT fails unless this claim was completed.
void guard(PGconn* connection, const Handed& handed);

}  // namespace semel::pg
