#include <algorithm>
#include <optional>
#include <utility>

#include "base/hex.h"
#include "pg/statement.h"
#include "pg/verdict.h"
#include "semel/derive.h"
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
  const auto bytes = decode_hex(text);
  if (!bytes || bytes->size() != out.bytes.size()) return false;
  std::ranges::copy(*bytes, out.bytes.begin());
  return true;
}

Rows make_claim(PGconn* connection, const Claim& claim) {
  return query(
      connection,
      "SELECT verdict, record, token, attempt, status, headers, body FROM " +
          function_in(connection, claim.schema, "claim") +
          "(tenant => $1, operation => $2, key => $3, fingerprint => $4, lease => $5, "
          "ttl => $6, tombstone => $7, unknown => $8, response_version => $9, "
          "namespace => $10)",
      {claim.tenant, claim.operation, claim.key, bytea(claim.fingerprint),
       interval_value(claim.lease), interval_value(claim.ttl), interval_value(claim.tombstone),
       std::string(word(claim.unknown)), claim.response_version, claim.name_space});
}

}  // namespace

std::expected<Handed, std::string> handed(std::string_view record, std::string_view token) {
  Handed claim;
  if (!read_hex(record, claim.record)) {
    return std::unexpected("Semel-Record is not 64 hexadecimal digits");
  }
  if (!read_hex(token, claim.token)) {
    return std::unexpected("Semel-Token is not 32 hexadecimal digits");
  }
  return claim;
}

std::string Context::derive(std::string_view label) const {
  return semel::derive(record, label);
}

Result once(PGconn* connection, const Claim& claim, const Work& work) {
  require_transaction(connection);
  const Rows rows = make_claim(connection, claim);
  const std::string verdict(rows.at(0, 0));
  if (verdict != kExecute) return without_execution(verdict, rows, 1, 4);

  const Context context{id_from(rows.bytes(0, 1)), token_from(rows.bytes(0, 2)),
                        static_cast<std::uint32_t>(std::stoul(std::string(rows.at(0, 3))))};
  const Handed mine{context.record, context.token, context.attempt, claim.schema};
  guard(connection, mine);
  Answer answer = work(context);
  complete(connection, mine, answer);
  return Executed{std::move(answer), context.record};
}

Result once_by_itself(PGconn* connection, const Claim& claim, const Work& work) {
  require_no_transaction(connection);
  std::optional<Result> result;
  run_transaction(connection, "BEGIN", [&] { result = once(connection, claim, work); });
  return *std::move(result);
}

void complete(PGconn* connection, const Handed& handed, const Answer& answer) {
  query(connection,
        "SELECT " + function_in(connection, handed.schema, "complete") +
            "(record => $1, token => $2, status => $3, headers => $4, body => $5::bytea)",
        {id_value(handed.record), token_value(handed.token), std::to_string(answer.status),
         headers_value(answer), bytea(answer.body)});
}

void release(PGconn* connection, const Handed& handed, std::string_view reason) {
  query(connection,
        "SELECT " + function_in(connection, handed.schema, "release") +
            "(record => $1, token => $2, reason => $3)",
        {id_value(handed.record), token_value(handed.token), std::string(reason)});
}

void guard(PGconn* connection, const Handed& handed) {
  query(connection,
        "SELECT " + function_in(connection, handed.schema, "guard") + "(record => $1, token => $2)",
        {id_value(handed.record), token_value(handed.token)});
}

}  // namespace semel::pg
