#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "core/transition.h"

namespace semel::support {

// The story of one key, told by its actors: everybody is a letter, which is also their token. Holds
// the record and the time; every event goes through transition() and is written at once.
class KeyStory {
 public:
  static constexpr Time kStart{std::chrono::seconds(1'700'000'000)};
  static constexpr Duration kQueuedLease = std::chrono::seconds(20);

  // Returns the verdict for the actor: "execute", "replay", "busy" …
  std::string claim(char who, std::string_view payload = "pay 10") {
    return happens(claim_of(who, payload, ""));
  }
  core::event::Claim claim_of(char who, std::string_view payload, std::string request) const {
    core::event::Claim claim;
    claim.scope = {"test", "tenant", "operation"};
    claim.id = make_id(claim.scope, "k");
    claim.shown_key = "k";
    claim.recipe = recipe;
    claim.fingerprint = print(payload);
    claim.compared = claim.fingerprint;
    claim.operation = operation;
    claim.token = token(who);
    claim.owner = {std::string(1, who), 1};
    claim.holder = holder;
    claim.skew = skew;
    claim.handle = handle;
    claim.request = std::move(request);
    return claim;
  }
  // Asks for the request to be kept and done later.
  std::string queues(char who, std::string_view payload = "pay 10") {
    return happens(claim_of(who, payload, "POST " + std::string(payload)));
  }
  // Takes up what `queued` queued.
  std::string starts(char who, char queued) {
    return happens(
        core::event::Start{token(queued), token(who), {std::string(1, who), 1}, operation});
  }
  std::string finishes(char who, const Outcome& outcome) {
    return happens(core::event::Finish{token(who), outcome, operation.unknown, operation.on_retry});
  }
  std::string answers(char who, int status, std::string body = "done") {
    return finishes(who, {OutcomeKind::final, {status, {}, std::move(body), {}}, "status"});
  }
  std::string fails(char who, int status = 503) {
    return finishes(who, {OutcomeKind::retry, {status, {}, "", {}}, "status"});
  }
  // Fails, and asks the engine to try again by itself after `pause`.
  std::string fails_for(char who, Duration pause, OutcomeKind kind = OutcomeKind::retry) {
    Outcome outcome{kind, {503, {}, "", {}}, "status 503"};
    outcome.queue_again_after = pause;
    return finishes(who, outcome);
  }
  std::string hears_nothing(char who) {
    return finishes(who, {OutcomeKind::unknown, {504, {}, "no answer", {}}, "no answer"});
  }
  std::string renews(char who) { return happens(core::event::Renew{token(who), operation.lease}); }
  std::string gives_back(char who) { return happens(core::event::Abandon{token(who)}); }
  std::string begins(char who, int status) {
    return happens(core::event::Begin{token(who), status});
  }
  std::string sweep() {
    return happens(core::event::Sweep{holder, skew, kQueuedLease, lost_again, std::nullopt});
  }
  std::string resolves(std::optional<Answer> answer, std::string why = "checked the books",
                       bool force = false) {
    core::event::Resolve resolve;
    resolve.token = record ? record->token : Token{};
    resolve.answer = std::move(answer);
    resolve.who = "operator";
    resolve.why = std::move(why);
    resolve.holder = holder;
    resolve.skew = skew;
    resolve.force = force;
    return happens(resolve);
  }

  void passes(Duration duration) { now += duration; }

  std::string state() const {
    if (!record) return "absent";
    return fmt::format("{} {}", to_string(record->state), record->attempt);
  }

  std::string happens(const core::event::Claim& claim) {
    return becomes(core::transition(record ? &*record : nullptr, claim, now));
  }
  std::string happens(const core::Event& event) {
    return becomes(core::transition(record ? &*record : nullptr, event, now));
  }
  std::string becomes(const core::Decision& decision) {
    if (const auto* put = std::get_if<core::Put>(&decision.change)) {
      record = *put->next;
      record->version = ++version_;
    } else if (std::holds_alternative<core::Erase>(decision.change)) {
      record.reset();
    }
    told = decision.verdict;
    return name(decision.verdict);
  }

  static Token token(char who) {
    Token token;
    token.bytes[0] = static_cast<std::uint8_t>(who);
    return token;
  }
  static Fingerprint print(std::string_view payload) {
    Fingerprint fingerprint;
    std::copy_n(payload.begin(), std::min(payload.size(), fingerprint.digest.size()),
                fingerprint.digest.begin());
    fingerprint.parts = {1, 2, 3, 4, std::hash<std::string_view>{}(payload)};
    return fingerprint;
  }

  std::optional<Record> record;
  Time now = kStart;
  Operation operation;
  Recipe recipe;
  core::Holder holder = core::Holder::unsure;
  Duration skew{0};
  Token handle;                        // of the records that are claimed
  std::optional<Duration> lost_again;  // after how long a lost execution is tried again
  core::Verdict told;                  // the last one, in full

 private:
  static std::string name(const core::Verdict& verdict) {
    static constexpr const char* kNames[] = {
        "execute",         "queued",  "replay",          "mismatch",   "busy",
        "outcome unknown", "expired", "version changed", "token used", "done",
        "stale",           "refused", "nothing"};
    return kNames[verdict.index()];
  }

  Version version_ = 0;
};

}  // namespace semel::support
