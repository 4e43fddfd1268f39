#pragma once

#include <string>
#include <vector>

#include "sim/lab.h"

namespace semel::sim {

// Checkers of a finished run. Each checks one promise and reports where it is broken.
using Violations = std::vector<std::string>;

// (a) One recorded answer: everybody who is answered for a key, in one life of its record, gets the
// same bytes, and nobody gets the answer to a request that was not his.
void check_one_answer(const Lab& lab, Violations& violations);

// (b) Once: no second execution, unless the first provably did nothing and the engine was told so,
// or an operator released the key, or its operation says to retry, or its record had expired.
void check_once(const Lab& lab, Violations& violations);

// (c) Never two live leases: see leases.h. Needs bounded clocks.
void check_leases(const Lab& lab, Violations& violations);

// (d) Acknowledged is durable: what anybody was told is done is in the store, and stays there until
// it expires.
void check_durable(const Lab& lab, Violations& violations);

// (e) Nothing is stuck: once the faults are over, no claim is held, nobody waits, nothing is due.
void check_nothing_stuck(const Lab& lab, Violations& violations);

// (f) Accepted is kept: work that anybody was told is queued stays in the store with its request
// until it is begun, or an operator decides about it; and it is begun.
void check_queued(const Lab& lab, Violations& violations);

// (g) Not needlessly unknown: a record is unknown only if its executor fell silent, its claim was
// dropped, or its node died. Whoever lives says how it ended, or that nothing was executed, however
// long the store makes him wait. To be asked while those nodes are still up.
void check_needlessly_unknown(const Lab& lab, Violations& violations);

// (h) Not before its time: where one clock counts, no answer expires before its ttl has passed in
// true time, however often that clock is set. Only what happens to it while no process runs is not
// seen.
void check_expiry(const Lab& lab, Violations& violations);

}  // namespace semel::sim
