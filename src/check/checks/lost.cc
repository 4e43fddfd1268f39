#include <fmt/format.h>

#include <algorithm>

#include "check/lab.h"

// Messages that do not arrive whole. The connection is cut by the client itself, at a chosen byte,
// with a FIN or a RST: the endpoint sees what it would see of a broken network.
namespace semel::check {
namespace {

constexpr Milliseconds kNoticed{150};  // for the endpoint to see that the connection has ended

// Judges the retry of a request whose answer was lost.
Finding judge_lost(Lab& lab, Effects& effects, const Answer& retry, const std::string& how) {
  if (!retry.ok()) {
    return failed(fmt::format("{}, and its retry got {}", how, retry.shown()));
  }
  if (effects.counted()) return effects.expect(1, how + ": it and its retry");
  if (lab.is_marked(retry)) return passed("the retry was a replay");
  return unproven("the key is not stuck; whether both had one effect needs --count or --count-cmd");
}

Finding lost_client_gone(Lab& lab) {
  Effects effects(lab);
  const Request request = lab.request(lab.new_key(), lab.extra_payload("--slow-body"));
  Line line = lab.client().open(request);
  line.send_rest();
  line.close();
  // Its work ends meanwhile: a lock that ends before it is inflight/slow's to find.
  const auto slow = Milliseconds(static_cast<long>(lab.calibration().slow_seconds * 1000));
  lab.client().pause(kNoticed + slow);
  const Answer retry = lab.settle(request);
  return judge_lost(lab, effects, retry, "the client left before the answer");
}

struct Cut {
  const char* where;
  std::size_t bytes;
};

Finding lost_answer_cut(Lab& lab) {
  const Answer& usual = lab.calibration().first;
  const std::size_t whole = usual.head_bytes + usual.body.size();
  const Cut cuts[] = {{"in the status line", 10},
                      {"in the body", usual.head_bytes + usual.body.size() / 2},
                      {"before the last byte", whole - 1}};
  Finding worst = passed();
  for (const Cut& cut : cuts) {
    for (const bool reset : {false, true}) {
      Effects effects(lab);
      const Request request = lab.request(lab.new_key(), lab.payload());
      Line line = lab.client().open(request);
      line.send_rest();
      line.skip(cut.bytes);
      reset ? line.reset() : line.close();
      const Answer retry = lab.settle(request);
      const Finding found =
          judge_lost(lab, effects, retry,
                     fmt::format("the answer was cut {} ({})", cut.where, reset ? "RST" : "FIN"));
      if (found.verdict == Verdict::failed) return found;
      if (found.verdict != Verdict::passed) worst = found;
    }
  }
  return worst;
}

Finding lost_request_cut(Lab& lab) {
  Finding worst = passed();
  for (const bool in_body : {false, true}) {
    Effects effects(lab);
    const Request request = lab.request(lab.new_key(), lab.payload());
    if (in_body && request.body.size() < 2) continue;
    const char* where = in_body ? "its body" : "its head";
    Line line = lab.client().open(request);
    const std::size_t half_body = (request.body.size() + 1) / 2;
    line.send_but(in_body ? half_body : request.body.size() + 2);
    line.close();
    lab.client().pause(kNoticed);
    const Answer whole = lab.settle(request);
    if (!whole.ok()) {
      return failed(fmt::format("after a request that was cut in {}, the whole one got {}", where,
                                whole.shown()));
    }
    effects.saw(whole);
    const Finding found =
        effects.expect(1, fmt::format("a request that was cut in {}, and the whole one,", where));
    if (found.verdict == Verdict::failed) return found;
    if (lab.is_marked(whole)) return failed("a request that was cut was executed");
    if (found.verdict != Verdict::passed) worst = found;
  }
  return worst;
}

Finding lost_pipelined(Lab& lab) {
  Effects effects(lab);
  const Request request = lab.request(lab.new_key(), lab.payload());
  Line line = lab.client().open(request);
  line.send_twice();
  const Answer first = lab.answer_of(line);
  const Answer second = lab.answer_of(line);
  effects.saw(first);
  effects.saw(second);
  if (first.status == 0 || first.status >= 500) {
    return failed("a request twice in one write got " + first.shown());
  }
  const Answer after = lab.settle(request);
  effects.saw(after);
  return effects.expect(1, "a request twice in one write, and its retry,");
}

constexpr Check kLost[] = {
    {"lost/client-gone", Level::safety, "1, 2.6",
     "the client leaves before the answer; its retry gets that answer", "", 2, 1, lost_client_gone},
    {"lost/answer-cut", Level::safety, "1, 2.6",
     "the answer is cut at three places, with FIN and RST; the retry gets it", "", 12, 6,
     lost_answer_cut},
    {"lost/request-cut", Level::safety, "1, 2.2",
     "a request that is cut has no effect and does not take the key", "", 4, 2, lost_request_cut},
    {"lost/pipelined", Level::safety, "2.6", "a request twice in one write has one effect", "", 2,
     1, lost_pipelined},
};

}  // namespace

std::span<const Check> lost_checks() {
  return kLost;
}

}  // namespace semel::check
