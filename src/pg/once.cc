#include <algorithm>
#include <optional>
#include <utility>

#include "base/hex.h"
#include "pg/statement.h"
#include "pg/verdict.h"
#include "semel/pg.h"

// If a claim could commit without its outcome, the next claim under the key would find an execution
// that nobody runs. That is why the guard is set before the work begins.
namespace semel::pg {
namespace {

std::string_view word(UnknownPolicy policy) {
  switch (policy) {
    case UnknownPolicy::retry:
      return "retry";
    case UnknownPolicy::fail:
      return "fail";
    case UnknownPolicy::hold:
    case UnknownPolicy::probe:
      break;
  }
  return "hold";
}

template <class Bytes>
bool read_hex(std::string_view text, Bytes& out) {
  const auto bytes = base::decode_hex(text);
  if (!bytes || bytes->size() != out.bytes.size()) return false;
  std::ranges::copy(*bytes, out.bytes.begin());
  return true;
}

Rows make_claim(PGconn* connection, const Operation& operation, const Call& call) {
  return query(connection,
               "SELECT verdict, record, token, attempt, status, headers, body FROM " +
                   function_in(connection, operation.schema, "claim") +
                   "(tenant => $1, operation => $2, key => $3, fingerprint => $4, lease => $5, "
                   "ttl => $6, tombstone => $7, unknown => $8, response_version => $9, "
                   "namespace => $10)",
               {call.tenant, operation.name, call.key, bytea(call.fingerprint),
                interval_value(operation.lease), interval_value(operation.ttl),
                interval_value(operation.tombstone), std::string(word(operation.unknown)),
                operation.response_version, operation.name_space});
}

}  // namespace

Claim parse_claim(std::string_view record, std::string_view token) {
  Claim claim;
  if (!read_hex(record, claim.record)) {
    throw Error("", "Semel-Record is not 64 hexadecimal digits");
  }
  if (!read_hex(token, claim.token)) {
    throw Error("", "Semel-Token is not 32 hexadecimal digits");
  }
  return claim;
}

Result once(PGconn* connection, const Operation& operation, const Call& call, const Work& work) {
  require_transaction(connection);
  const Rows rows = make_claim(connection, operation, call);
  const std::string verdict(rows.at(0, 0));
  if (verdict != kExecute) return without_execution(verdict, rows, 1, 4);

  const Claim claim{id_from(rows.bytes(0, 1)), token_from(rows.bytes(0, 2)),
                    static_cast<std::uint32_t>(std::stoul(std::string(rows.at(0, 3))))};
  guard(connection, claim, operation.schema);
  Answer answer = work(claim);
  complete(connection, claim, answer, operation.schema);
  return Executed{std::move(answer), claim.record};
}

Result once_by_itself(PGconn* connection, const Operation& operation, const Call& call,
                      const Work& work) {
  require_no_transaction(connection);
  std::optional<Result> result;
  run_transaction(connection, "BEGIN", [&] { result = once(connection, operation, call, work); });
  return *std::move(result);
}

void complete(PGconn* connection, const Claim& claim, const Answer& answer,
              const std::string& schema) {
  query(connection,
        "SELECT " + function_in(connection, schema, "complete") +
            "(record => $1, token => $2, status => $3, headers => $4, body => $5::bytea)",
        {id_value(claim.record), token_value(claim.token), std::to_string(answer.status),
         headers_value(answer), bytea(answer.body)});
}

void release(PGconn* connection, const Claim& claim, std::string_view reason,
             const std::string& schema) {
  query(connection,
        "SELECT " + function_in(connection, schema, "release") +
            "(record => $1, token => $2, reason => $3)",
        {id_value(claim.record), token_value(claim.token), std::string(reason)});
}

void guard(PGconn* connection, const Claim& claim, const std::string& schema) {
  query(connection,
        "SELECT " + function_in(connection, schema, "guard") + "(record => $1, token => $2)",
        {id_value(claim.record), token_value(claim.token)});
}

}  // namespace semel::pg
