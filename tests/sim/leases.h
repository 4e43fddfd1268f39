#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario.h"
#include "stores/forwarding_store.h"
#include "support/virtual_time.h"

namespace semel::sim {

// Invariant (c): never two live leases. At no moment do two executions of one record both believe
// that they hold it.
//
// A belief begins when admit() says Execute, and ends when the execution's end is reported, when
// its node dies, or when the lease, as last written, has run out by its node's own clock. The last
// is what needs bounded clocks: on a store that one process has for itself, a running execution
// outranks any clock, and beliefs do not lapse at all.
//
// And where nobody is held up, nobody is overtaken: a lease is renewed as long as its holder lives.
class Leases {
 public:
  explicit Leases(const Scenario& scenario)
      : exclusive_(scenario.exclusive), calm_(scenario.calm) {}

  void began(const Record& claim, support::VirtualTime::Lane lane, const Clock& clock);
  void renewed(const Record& claim);
  void ended(const Token& token) { beliefs_.erase(token); }
  void died(support::VirtualTime::Lane lane);
  // The store has accepted that nobody knows what became of this claim, or that another has it.
  void given_up(const Record& claim);

  const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct Belief {
    Record claim;
    support::VirtualTime::Lane lane;
    const Clock* clock;
  };
  bool live(const Belief& belief) const;
  void check(const Belief& belief);

  const bool exclusive_;
  const bool calm_;
  std::map<Token, Belief> beliefs_;
  std::vector<std::string> violations_;
};

// Sees what the engine is told of its renewals.
class WatchedStore final : public stores::ForwardingStore {
 public:
  WatchedStore(std::unique_ptr<Store> inner, Leases& leases)
      : stores::ForwardingStore(std::move(inner)), leases_(leases) {}
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) override;

 private:
  Leases& leases_;
};

}  // namespace semel::sim
