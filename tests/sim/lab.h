#pragma once

#include <boost/asio/io_context.hpp>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "semel/driver/scope.h"
#include "sim/history.h"
#include "sim/leases.h"
#include "sim/planted.h"
#include "sim/scenario.h"
#include "sim/store/fading.h"
#include "sim/trace.h"
#include "sim/upstream.h"
#include "support/model_store.h"
#include "support/virtual_time.h"

namespace semel::sim {

// An answer that somebody was given as the answer of a key.
struct Answered {
  RecordId id;
  Version version = 0;  // of the record it came from; 0: from none
  Answer answer;
  int payload = 0;  // of the request that it answers
  std::string how;
};

// Somebody was told that this queued work will be done.
struct Accepted {
  RecordId id;
  Token token;
};

// Shared by everything in one run: the world outside the nodes, and the observations of it.
struct Lab {
  Lab(std::uint64_t seed, Plant planted, bool traced, support::ModelStore& below)
      : random(seed),
        tokens(random.next()),
        scenario(Scenario::draw(random)),
        rates(scenario.rates),
        plant(planted),
        store(below),
        upstream(random.next()),
        leases(scenario),
        trace(traced) {}

  boost::asio::io_context io{1};
  support::VirtualTime time{io};
  Random random;
  RandomTokens tokens;
  const Scenario scenario;
  FaultRates rates;  // as they are at the moment
  const Plant plant;

  support::ModelStore& store;
  History history;
  Fading fading;
  Upstream upstream;
  Leases leases;
  std::deque<Answered> answers;
  std::deque<Accepted> accepted;
  int open_sessions = 0;
  struct ClockStep {
    Time at;       // true time, like of the boots
    Duration off;  // from then on
  };
  std::vector<ClockStep> clock_steps;
  std::vector<Time> boots;
  std::set<std::pair<std::string, std::uint64_t>> died;  // nodes, each with its run
  // Claims that were under way while their key lived and was removed, and that landed then: their
  // node was told long ago whose the key is, and no store tells one absence from another.
  std::set<Token> outlived;

  Trace trace;
  Tally tally;

  Scope scope{"sim", "tenant", "operation"};
  std::string key_name(int key) const { return "k" + std::to_string(key); }
  RecordId id_of(int key) const { return make_id(scope, key_name(key)); }
};

}  // namespace semel::sim
