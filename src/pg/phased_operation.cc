#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "pg/running.h"
#include "pg/statement.h"
#include "pg/verdict.h"
#include "semel/phases.h"

namespace semel::pg {
namespace {

// The columns of begin_operation and adopt_operation: verdict, record, token, attempt,
// recovery_point, state, arguments, and those of the answer.
constexpr const char* kBegunColumns = "SELECT * FROM ";
constexpr int kRecordColumn = 1;
constexpr int kStatusColumn = 7;

detail::Running begun(PGconn* connection, const PhasedOperation& operation, const Rows& rows) {
  const auto text = [&](int column) { return std::string(rows.at(0, column)); };
  return {connection,
          operation,
          Claim{id_from(rows.bytes(0, kRecordColumn)), token_from(rows.bytes(0, 2)),
                static_cast<std::uint32_t>(std::stoul(text(3)))},
          operation.rules().schema,
          rows.bytes(0, 6),
          text(4),
          boost::json::parse(text(5)).as_object()};
}

Result go_on(PGconn* connection, const PhasedOperation& operation, const Rows& rows) {
  const std::string verdict(rows.at(0, 0));
  if (verdict != kExecute) return without_execution(verdict, rows, kRecordColumn, kStatusColumn);
  detail::Running running = begun(connection, operation, rows);
  Answer answer = running.run();
  return Executed{std::move(answer), running.claim.record};
}

}  // namespace

PhasedOperation::PhasedOperation(std::string name, Operation rules)
    : name_(std::move(name)), rules_(std::move(rules)) {
  if (name_.empty()) throw std::invalid_argument("an operation needs a name");
  if (rules_.name.empty()) rules_.name = name_;
}

PhasedOperation& PhasedOperation::add(std::string name, std::variant<Phase, CallStep> work) {
  if (name.empty()) throw std::invalid_argument("a step of " + name_ + " has no name");
  if (std::ranges::find(steps_, name, &Named::name) != steps_.end()) {
    throw std::invalid_argument("two steps of " + name_ + " are called " + name);
  }
  steps_.push_back({std::move(name), std::move(work)});
  return *this;
}

PhasedOperation& PhasedOperation::phase(std::string name, Phase work) {
  return add(std::move(name), std::move(work));
}

PhasedOperation& PhasedOperation::call(std::string name, CallStep work) {
  return add(std::move(name), std::move(work));
}

PhasedOperation& PhasedOperation::finish(Finish work) {
  finish_ = std::move(work);
  return *this;
}

PhasedOperation& PhasedOperation::isolation(Isolation isolation) {
  isolation_ = isolation;
  return *this;
}

PhasedOperation& PhasedOperation::lease(Duration lease) {
  rules_.lease = lease;
  return *this;
}

void PhasedOperation::require_finish() const {
  if (!finish_) throw std::invalid_argument("the operation " + name_ + " has no finish");
}

Result run(PGconn* connection, const PhasedOperation& operation, const Call& call,
           std::string_view arguments) {
  operation.require_finish();
  require_no_transaction(connection);
  const Operation& rules = operation.rules();
  const Rows rows =
      query(connection,
            kBegunColumns + function_in(connection, rules.schema, "begin_operation") +
                "(name => $1, tenant => $2, operation => $3, key => $4, arguments => $5::bytea, "
                "fingerprint => $6, lease => $7, ttl => $8, tombstone => $9, "
                "response_version => $10, namespace => $11)",
            {operation.name(), call.tenant, rules.name, call.key, bytea(arguments),
             bytea(call.fingerprint.empty() ? digest_of(arguments) : call.fingerprint),
             interval_value(rules.lease), interval_value(rules.ttl),
             interval_value(rules.tombstone), rules.response_version, rules.name_space});
  return go_on(connection, operation, rows);
}

Result run(PGconn* connection, const PhasedOperation& operation, const Claim& claim,
           std::string_view arguments) {
  operation.require_finish();
  require_no_transaction(connection);
  const Operation& rules = operation.rules();
  const Rows rows =
      query(connection,
            kBegunColumns + function_in(connection, rules.schema, "adopt_operation") +
                "(name => $1, record => $2, token => $3, arguments => $4::bytea, lease => $5)",
            {operation.name(), id_value(claim.record), token_value(claim.token), bytea(arguments),
             interval_value(rules.lease)});
  return go_on(connection, operation, rows);
}

}  // namespace semel::pg
