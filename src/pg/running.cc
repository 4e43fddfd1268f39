#include "pg/running.h"

#include <algorithm>
#include <boost/json.hpp>

#include "pg/statement.h"
#include "semel/derive.h"

// A phase checks that it still holds the claim when it begins and, under the record's lock, when it
// ends. Otherwise a runner that was overtaken would commit an effect that another runner has made
// too.
namespace semel::pg {
namespace detail {

namespace json = boost::json;

Rows Running::ask(const char* function, const char* arguments_as, std::vector<Value> values) const {
  values.insert(values.begin(), {id_value(claim.record), token_value(claim.token)});
  return query(connection,
               "SELECT " + function_in(connection, schema, function) +
                   "(record => $1, token => $2" + arguments_as + ")",
               values);
}

void Running::renew() const {
  ask("renew_operation", ", lease => $3", {interval_value(operation.rules_.lease)});
}

Answer Running::run() {
  std::size_t step = 0;
  try {
    for (step = first_step(); step < operation.steps_.size(); ++step) run_step(step);
    return run_finish();
  } catch (const Stale&) {
    throw;  // the claim is not ours to give back
  } catch (const std::exception& error) {
    give_back(error.what(), nothing_done(step));
    throw;
  } catch (...) {
    give_back("a step threw something that is not a std::exception", nothing_done(step));
    throw;
  }
}

// Returns the step after the recovery point.
std::size_t Running::first_step() const {
  if (recovery_point.empty()) return 0;
  const auto at =
      std::ranges::find(operation.steps_, recovery_point, &PhasedOperation::Named::name);
  if (at != operation.steps_.end()) return 1 + (at - operation.steps_.begin());
  throw Error("", "the operation " + operation.name_ + " has no step " + recovery_point +
                      " to resume from");
}

// Returns true if the first phase was rolled back and no call was made before it.
bool Running::nothing_done(std::size_t failed_step) const {
  if (!recovery_point.empty() || failed_step != 0) return false;
  return operation.steps_.empty() ||
         std::holds_alternative<PhasedOperation::Phase>(operation.steps_.front().work);
}

void Running::run_step(std::size_t index) {
  const PhasedOperation::Named& step = operation.steps_[index];
  if (const auto* phase = std::get_if<PhasedOperation::Phase>(&step.work)) {
    in_transaction(*phase, [&](const PhaseState& next) {
      ask("move_operation", ", recovery_point => $3, state => $4, lease => $5",
          {step.name, json::serialize(next), interval_value(operation.rules_.lease)});
    });
    recovery_point = step.name;
  } else {
    renew();  // no foreign call is made under a claim that was lost long ago
    ForeignCall call(*this, step.name);
    std::get<PhasedOperation::CallStep>(step.work)(call, state);
  }
}

Answer Running::run_finish() {
  Answer answer;
  in_transaction([&](Transaction& transaction,
                     PhaseState& last) { answer = operation.finish_(transaction, last); },
                 [&](const PhaseState&) {
                   ask("finish_operation", ", status => $3, headers => $4, body => $5::bytea",
                       {std::to_string(answer.status), headers_value(answer), bytea(answer.body)});
                 });
  return answer;
}

void Running::in_transaction(const PhasedOperation::Phase& work,
                             const std::function<void(const PhaseState&)>& last) {
  const char* begin = operation.isolation_ == Isolation::serializable
                          ? "BEGIN ISOLATION LEVEL SERIALIZABLE"
                          : "BEGIN ISOLATION LEVEL READ COMMITTED";
  PhaseState next;
  run_transaction(connection, begin, [&] {
    next = state;  // discards what a phase that was rolled back wrote
    ask("enter_phase", "", {});
    Transaction transaction(*this);
    work(transaction, next);
    last(next);
  });
  state = std::move(next);
}

// If the operation cannot be given back now, it is resumed when its lease has run out.
void Running::give_back(const char* why, bool nothing_was_done) const noexcept {
  try {
    ask("suspend_operation", ", why => $3, nothing_done => $4",
        {why, nothing_was_done ? "true" : "false"});
  } catch (const std::exception&) {
  }
}

}  // namespace detail

const RecordId& Step::record() const {
  return running_->claim.record;
}

std::uint32_t Step::attempt() const {
  return running_->claim.attempt;
}

std::string_view Step::arguments() const {
  return running_->arguments;
}

std::string Step::derive(std::string_view label) const {
  return semel::derive(running_->claim.record, label);
}

PGconn* Transaction::connection() const {
  return running_->connection;
}

Rows Transaction::query(const std::string& statement, const std::vector<Value>& values) const {
  return pg::query(running_->connection, statement, values);
}

void ForeignCall::renew() const {
  running_->renew();
}

}  // namespace semel::pg
