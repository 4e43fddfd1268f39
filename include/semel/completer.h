#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "semel/phases.h"

// The completer resumes operations that nobody works on any more: their runner died, or a step
// failed and the client did not come back. Any number of completers may run at once.
namespace semel::pg {

struct CompleterOptions {
  int at_most = 100;      // operations resumed by one call
  int max_attempts = 20;  // after as many, one is stuck: listed, and left to retries and people
  Duration lease = std::chrono::seconds(30);  // of one taken by take_abandoned()
  std::string schema = "semel";
};

// An operation that was taken over: its claim is ours for the lease.
struct Abandoned {
  Handed claim;
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

// Resumes what was abandoned of these operations and is due, by the database's clock. Waits for
// nobody: what another one is at is passed over. What a step throws is in the report.
Completed complete_abandoned(PGconn* connection, std::span<const Operation> operations,
                             const CompleterOptions& options = {});

// The parts, for those who resume by other means: the claim of the next abandoned operation of one
// of these names; what is stuck; whether one has ended; and giving one back, to be tried again
// after a while. All throw Error.
std::optional<Abandoned> take_abandoned(PGconn* connection, const std::vector<std::string>& names,
                                        const CompleterOptions& options);
std::vector<Stuck> stuck(PGconn* connection, const std::vector<std::string>& names,
                         const CompleterOptions& options);
bool is_unfinished(PGconn* connection, const Handed& claim);
void give_back(PGconn* connection, const Handed& claim, std::string_view why);

}  // namespace semel::pg
