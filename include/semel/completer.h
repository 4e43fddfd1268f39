#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "semel/phases.h"

// The completer resumes operations that nobody works on any more: their runner died, or a step
// failed and the client did not come back. Any number of completers may run at once.
//
//   const std::vector<PhasedOperation> operations = {create_order};
//   const Completed done = complete_abandoned(connection, operations);  // now and then
//   for (const Stuck& operation : done.stuck) alert(operation.key, operation.why);
namespace semel::pg {

struct CompleterOptions {
  int at_most = 100;      // number of operations that one call resumes at most
  int max_attempts = 20;  // then an operation is stuck: listed, and left to retries and people
  Duration lease = std::chrono::seconds(30);  // of a claim taken by take_abandoned()
  std::string schema = "semel";
};

// An operation that was taken over. The caller holds its claim for the length of the lease.
struct Abandoned {
  Claim claim;
  std::string name;  // of the operation
  std::string tenant;
  std::string key;
  std::string arguments;
  std::string recovery_point;
  PhaseState state;
};

struct Stuck {
  RecordId record;
  std::string name;
  std::string tenant;
  std::string key;
  std::string recovery_point;
  int attempts = 0;
  std::string why;
};

struct Resumed {
  RecordId record;
  std::string name;
  std::string tenant;
  std::string key;
  std::optional<Answer> answer;  // nullopt: it failed again, and will be tried later
  std::string error;
};

struct Completed {
  std::vector<Resumed> resumed;
  std::vector<Stuck> stuck;
};

// Resumes those of the given operations that are abandoned and due by the database's clock. Waits
// for nobody: skips operations that another completer is working on. Reports an exception thrown by
// a step in Resumed::error.
Completed complete_abandoned(PGconn* connection, std::span<const PhasedOperation> operations,
                             const CompleterOptions& options = {});

// The parts of complete_abandoned(), for programs that resume by other means. All throw Error.
//
// Claims the next abandoned operation that has one of these names. nullopt: there is none.
std::optional<Abandoned> take_abandoned(PGconn* connection, const std::vector<std::string>& names,
                                        const CompleterOptions& options);
// Returns the stuck operations that have one of these names.
std::vector<Stuck> find_stuck(PGconn* connection, const std::vector<std::string>& names,
                              const CompleterOptions& options);
// Returns false once the operation has ended.
bool is_unfinished(PGconn* connection, const Claim& claim, const std::string& schema = "semel");
// Gives the operation back, to be tried again after a while.
void give_back(PGconn* connection, const Claim& claim, std::string_view why,
               const std::string& schema = "semel");

}  // namespace semel::pg
