#pragma once

#include <any>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check/check.h"
#include "check/counter.h"
#include "check/payload.h"
#include "check/witness.h"

namespace semel::check {

// The properties of the endpoint that the first requests of a run found out.
struct Calibration {
  bool quoted = true;  // keys are sent as RFC 9651 Strings; false: bare
  Witness witness;
  std::string marker_value;
  std::string marker;     // the field that tells a replay from a first answer; "": none
  bool varies = false;    // another payload is accepted, so a refusal is about the key
  std::string unvarying;  // why not
  Answer first;
  double slow_seconds = 0;  // how long --slow-body takes; 0: not measured
};

// A request and its answer, shortened for a report, without credentials.
struct Shown {
  std::string request;
  std::string key;
  std::string answer;
  std::string body;
};

// A sentence on how the endpoint behaves, by topic: "errors" "are kept".
using Behaviour = std::vector<std::pair<std::string, std::string>>;

// The tools of the checks: new keys, payloads, exchanges and counted effects. A check makes its own
// keys, so that none depends on what another did.
class Lab {
 public:
  Lab(const Options& options, Client& client);

  const Options& options() const { return options_; }
  Client& client() { return client_; }
  Counter& counter() { return counter_; }
  Calibration& calibration() { return calibration_; }
  const Witness& witness() const { return calibration_.witness; }

  // At most 24 characters, so that endpoints that cut keys confuse only those that test it.
  std::string new_key();
  std::string payload();
  // Another payload for the same key; nullopt: none is known that is accepted.
  std::optional<std::string> other_payload(int nth = 1);
  // The rendered value of an option that is given.
  std::string extra_payload(std::string_view option);

  // A request with this key, written as the endpoint wants it.
  Request request(const std::string& key, std::string_view payload);
  // A request with these values of the key's field, as they are.
  Request raw_request(const std::vector<std::string>& keys, std::string_view payload);

  // Sends a request. If it gets 429, waits as long as it is told, and sends it again a few times.
  Answer send(const Request& request);
  Answer send_once(const Request& request);
  // Sends until the key is no longer in use, or patience runs out.
  Answer settle(const Request& request);
  // Reads the answer of a line and puts it on record.
  Answer answer_of(Line& line);

  // Returns whether an answer to a retry comes from the execution that `first` answered; without a
  // witness, whether their bytes are equal.
  bool same(const Answer& first, const Answer& retry) const;
  bool is_marked(const Answer& answer) const;
  // Returns whether the status says that the key is in use right now. 202 is the usual answer of
  // some endpoints, and says "later" at others.
  bool is_busy(const Answer& answer) const;

  void behaves(std::string topic, std::string how);
  const Behaviour& behaviour() const { return behaviour_; }

  // Observations that several checks of a family judge are made once.
  template <typename Observed>
  const Observed& observed(Observed (*observe)(Lab&)) {
    Observation& kept = observations_[reinterpret_cast<void*>(observe)];
    if (!kept.seen.has_value()) {
      const auto before = static_cast<std::ptrdiff_t>(shown_.size());
      kept.seen = observe(*this);
      kept.shown.assign(shown_.begin() + before, shown_.end());
    } else {
      shown_.insert(shown_.end(), kept.shown.begin(), kept.shown.end());
    }
    return std::any_cast<const Observed&>(kept.seen);
  }
  void forget_observations() { observations_.clear(); }

  // Strikes out the credentials that the user gave: an endpoint may echo them.
  std::string without_secrets(std::string text) const;
  // Returns what was exchanged since the last call.
  std::vector<Shown> take_shown() { return std::exchange(shown_, {}); }
  // Effects seen so far: counted, or by their witnesses.
  long effects();
  const std::set<std::string>& witnesses() const { return witnesses_; }
  void begin_counting();

 private:
  struct Observation {
    std::any seen;
    std::vector<Shown> shown;  // for each check that judges it
  };

  void note(const Request& request, const Answer& answer);

  const Options& options_;
  Client& client_;
  Counter counter_;
  Payloads payloads_;
  Calibration calibration_;
  Behaviour behaviour_;
  std::map<void*, Observation> observations_;
  std::vector<Shown> shown_;
  std::vector<std::string> secrets_;
  std::set<std::string> witnesses_;  // of successful answers
  long successes_ = 0;
  long counted_before_ = 0;
  std::string run_;
  int keys_ = 0;
};

// Counts the effects since it was made: with the counter, or as different witnesses in the answers
// that it is shown.
class Effects {
 public:
  explicit Effects(Lab& lab);

  void saw(const Answer& answer);
  // Judges whether there were as many effects as expected; `who` begins the sentence of a failure.
  Finding expect(long count, std::string_view who);
  // Returns the counter's difference; nullopt: there is no counter.
  std::optional<long> counted();
  // Different executions seen.
  std::size_t seen() const { return seen_.size(); }

 private:
  Lab& lab_;
  std::optional<long> before_;
  std::vector<Answer> seen_;  // one per execution
};

}  // namespace semel::check
