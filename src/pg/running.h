#pragma once

#include <string>

#include "semel/phases.h"

namespace semel::pg::detail {

// Runs an operation under a claim that is held, from its recovery point to its answer.
struct Running {
  PGconn* connection;
  const PhasedOperation& operation;
  Claim claim;
  std::string schema;
  std::string arguments;
  std::string recovery_point;  // the last committed phase; "": none
  PhaseState state;

  // Throws what a step throws, after giving the operation back, or Stale if the claim is lost.
  Answer run();

  void renew() const;

 private:
  std::size_t first_step() const;
  bool nothing_done(std::size_t failed_step) const;
  void run_step(std::size_t index);
  Answer run_finish();
  // `last` ends the phase: it moves the recovery point, or completes the record.
  void in_transaction(const PhasedOperation::Phase& work,
                      const std::function<void(const PhaseState&)>& last);
  void give_back(const char* why, bool nothing_was_done) const noexcept;
  Rows ask(const char* function, const char* arguments_as, std::vector<Value> values) const;
};

}  // namespace semel::pg::detail
