#include <fmt/format.h>

#include "check/lab.h"

// Several requests with one key at once. Each is sent but for its last byte; then the last bytes
// are sent one after another, so that they arrive together however long the connections took.
namespace semel::check {
namespace {

constexpr int kRounds = 3;
constexpr int kPayloads = 8;

std::vector<Answer> run_race(Lab& lab, const std::vector<Request>& requests) {
  std::vector<Line> lines;
  for (const Request& request : requests) {
    lines.push_back(lab.client().open(request, false));
    lines.back().send_but(1);
  }
  for (Line& line : lines) line.send_rest();
  std::vector<Answer> answers;
  for (Line& line : lines) answers.push_back(lab.answer_of(line));
  return answers;
}

struct Round {
  std::vector<Answer> answers;
  Answer after;
  Finding effects;
};
using Rounds = std::vector<Round>;

Rounds observe_race(Lab& lab) {
  Rounds rounds;
  for (int i = 0; i < kRounds; ++i) {
    Effects effects(lab);
    const Request request = lab.request(lab.new_key(), lab.payload());
    Round round;
    round.answers =
        run_race(lab, std::vector<Request>(static_cast<std::size_t>(lab.options().race), request));
    round.after = lab.settle(request);
    for (const Answer& answer : round.answers) {
      effects.saw(answer);
    }
    effects.saw(round.after);
    round.effects = effects.expect(1, fmt::format("{} equal requests at once", lab.options().race));
    rounds.push_back(std::move(round));
  }
  return rounds;
}

Finding race_one_effect(Lab& lab) {
  Finding worst = passed();
  for (const Round& round : lab.observed(observe_race)) {
    if (round.effects.verdict == Verdict::failed) return round.effects;
    if (round.effects.verdict != Verdict::passed) worst = round.effects;
  }
  return worst;
}

// Returns what is wrong with one answer of a race; "": nothing.
std::string race_trouble(Lab& lab, const Answer& answer) {
  if (answer.status == 0 || answer.status >= 500) return answer.shown();
  if (lab.is_busy(answer) || answer.status == 429 || answer.status == 423) return {};
  if (!answer.ok()) return answer.shown();
  if (lab.witness().known() && lab.witness().of(answer).empty()) {
    return fmt::format("{} without the answer's content", answer.status);
  }
  return {};
}

Finding race_answers(Lab& lab) {
  int held = 0;
  int refused = 0;
  for (const Round& round : lab.observed(observe_race)) {
    for (const Answer& answer : round.answers) {
      if (const std::string trouble = race_trouble(lab, answer); !trouble.empty()) {
        return failed("one of several at once got " + trouble);
      }
      const bool later = !answer.ok() || lab.is_busy(answer);
      (later ? refused : held) += 1;
      if (later) lab.behaves("duplicates in flight", fmt::format("get {}", answer.status));
    }
  }
  if (refused == 0) lab.behaves("duplicates in flight", "are held until the answer");
  return passed(fmt::format("{} got the answer, {} were told to come back", held, refused));
}

Finding race_then_replay(Lab& lab) {
  for (const Round& round : lab.observed(observe_race)) {
    if (!round.after.ok()) return failed("after the race, a retry got " + round.after.shown());
    bool any = false;
    bool same = false;
    for (const Answer& answer : round.answers) {
      if (!answer.ok() || lab.is_busy(answer)) continue;
      any = true;
      same = same || lab.same(answer, round.after);
    }
    if (any && !same) return failed("after the race, a retry got another answer");
  }
  return passed();
}

Finding race_retry_after(Lab& lab) {
  bool any = false;
  for (const Round& round : lab.observed(observe_race)) {
    for (const Answer& answer : round.answers) {
      if (answer.status != 409 && answer.status != 425) continue;
      any = true;
      if (!answer.has("Retry-After")) {
        return failed(fmt::format("{} without Retry-After", answer.status));
      }
    }
  }
  return any ? passed() : not_applicable("no duplicate was refused");
}

Finding race_mixed(Lab& lab) {
  if (!lab.other_payload()) return not_applicable(lab.calibration().unvarying);
  Effects effects(lab);
  const std::string key = lab.new_key();
  std::vector<Request> requests;
  for (int i = 1; i <= std::min(kPayloads, lab.options().race); ++i) {
    requests.push_back(lab.request(key, i == 1 ? lab.payload() : *lab.other_payload(i)));
  }
  for (const Answer& answer : run_race(lab, requests)) {
    effects.saw(answer);
  }
  // Those that were refused may leave one running.
  lab.settle(requests.front());
  const Finding found = effects.expect(1, "different payloads with one key, at once,");
  const bool none = found.verdict == Verdict::failed && effects.counted() == 0;
  return none ? unproven("all of them were refused") : found;
}

Finding race_many_keys(Lab& lab) {
  Effects effects(lab);
  std::vector<Request> requests;
  for (int i = 0; i < lab.options().race; ++i) {
    requests.push_back(lab.request(lab.new_key(), lab.payload()));
  }
  for (const Answer& answer : run_race(lab, requests)) {
    if (answer.status == 429) return unproven("the endpoint limits the rate (429)");
    if (!answer.ok()) return failed("of new keys at once, one got " + answer.shown());
    effects.saw(answer);
  }
  return effects.expect(lab.options().race, fmt::format("{} keys at once", lab.options().race));
}

constexpr Check kRace[] = {
    {"race/one-effect", Level::safety, "2.6", "equal requests at once have one effect", "", 39, 3,
     race_one_effect},
    {"race/answers", Level::draft, "2.6, 2.7", "each gets the one answer, or is told to come back",
     "", 0, 0, race_answers},
    {"race/then-replay", Level::draft, "2.6", "afterwards a retry gets the answer", "", 0, 0,
     race_then_replay},
    {"race/retry-after", Level::profile, "2.7", "409 says when to come back", "", 0, 0,
     race_retry_after},
    {"race/mixed", Level::safety, "2.2", "different payloads with one key at once: one effect", "",
     9, 1, race_mixed},
    {"race/many-keys", Level::safety, "2.2", "different keys at once do not hinder each other", "",
     12, 12, race_many_keys},
};

}  // namespace

std::span<const Check> race_checks() {
  return kRace;
}

}  // namespace semel::check
