#include <fmt/format.h>

#include "base/text.h"
#include "check/lab.h"

// Which keys are the same, and what happens without one.
namespace semel::check {
namespace {

std::string written(Lab& lab, const std::string& key) {
  return lab.calibration().quoted ? '"' + key + '"' : key;
}

// Sends one payload with each key. Each is executed, or its key refused as bad syntax; none gets
// the answer of another.
Finding judge_distinct(Lab& lab, const std::vector<std::string>& keys, std::string_view how) {
  Effects effects(lab);
  const std::string payload = lab.payload();
  long executed = 0;
  for (const std::string& key : keys) {
    const Answer answer = lab.settle(lab.raw_request({written(lab, key)}, payload));
    const bool refused = answer.status >= 400 && answer.status < 500 && answer.status != 409;
    if (!answer.ok() && !refused) {
      return failed(fmt::format("of keys that differ {}, one got {}", how, answer.shown()));
    }
    const std::size_t before = effects.seen();
    effects.saw(answer);
    if (answer.ok() && lab.witness().known() && effects.seen() == before) {
      return failed(fmt::format("keys that differ {} got one answer", how));
    }
    if (answer.ok()) ++executed;
  }
  if (executed == 0) return passed("all are refused");
  return effects.expect(executed, fmt::format("keys that differ {}", how));
}

Finding key_missing(Lab& lab) {
  const Answer answer = lab.send(lab.raw_request({}, lab.payload()));
  if (!lab.options().key_required) {
    lab.behaves("requests without a key", answer.ok() ? "are executed" : "get " + answer.shown());
    return said(answer.ok() ? "a request without a key is executed; --required makes it a failure"
                            : "a request without a key got " + answer.shown());
  }
  if (answer.status == 400) return passed();
  return failed(fmt::format("a request without a key got {} (SHOULD be 400)", answer.shown()));
}

Finding key_missing_link(Lab& lab) {
  if (!lab.options().key_required) return not_applicable("--required unlocks it");
  const Answer answer = lab.send(lab.raw_request({}, lab.payload()));
  if (answer.status < 400) return not_applicable("it is not refused: see key/missing");
  const bool json = base::lower_case(answer.get("Content-Type")).contains("json");
  if (answer.has("Link") || (json && answer.body.size() > 2)) return passed();
  return failed("the refusal has neither a Link nor a document that says why");
}

Finding key_name_case(Lab& lab) {
  Effects effects(lab);
  Request request = lab.request(lab.new_key(), lab.payload());
  effects.saw(lab.send(request));
  std::string name = base::lower_case(lab.options().key_header);
  for (Field& field : request.fields) {
    if (base::lower_case(field.name) == name) field.name = name;
  }
  const Answer retry = lab.settle(request);
  effects.saw(retry);
  if (!retry.ok()) return failed(fmt::format("a retry with {} got {}", name, retry.shown()));
  return effects.expect(1, fmt::format("a request and its retry with {}", name));
}

Finding key_long_distinct(Lab& lab) {
  const std::string key = lab.new_key() + "-" + std::string(170, 'k');
  return judge_distinct(lab, {key + "a", key + "b"}, "in their 200th character");
}

Finding key_case(Lab& lab) {
  const std::string key = lab.new_key();
  return judge_distinct(lab, {key + "-a", key + "-A"}, "in case");
}

Finding key_prefix_distinct(Lab& lab) {
  const std::string key = lab.new_key();
  return judge_distinct(lab, {key + "-ab", key + "-a", key + "-a*", key + "-a%", key + "-a_"},
                        "by *, % or _ at their end");
}

Finding key_get_ignores(Lab& lab) {
  const Request request = lab.request(lab.new_key(), lab.payload());
  const Answer first = lab.send(request);
  Request get = request;
  get.method = "GET";
  get.body.clear();
  const Answer answer = lab.send(get);
  if (!first.ok()) return failed("a new key got " + first.shown());
  if (answer.ok() && !first.body.empty() && answer.body == first.body) {
    return failed("GET with a used key got the stored answer");
  }
  return passed("GET got " + answer.shown());
}

Finding key_empty(Lab& lab) {
  for (const char* empty : {"", "\"\""}) {
    const std::string payload = lab.payload();
    const Answer one = lab.send(lab.raw_request({empty}, payload));
    const Answer two = lab.send(lab.raw_request({empty}, payload));
    if (one.status == 0 || one.status >= 500) return failed("an empty key got " + one.shown());
    if (one.ok() && two.ok() && lab.same(one, two)) {
      return lab.witness().known() ? failed("two requests with an empty key got one answer")
                                   : unproven("nothing in the answers tells executions apart");
    }
    if (one.ok() && lab.options().key_required) {
      return failed(fmt::format("an empty key is taken for none, and gets {}", one.status));
    }
    if (one.ok()) lab.behaves("an empty key", "is none");
  }
  return passed();
}

Finding key_repeated(Lab& lab) {
  const std::string payload = lab.payload();
  const std::string one = written(lab, lab.new_key());
  const std::string two = written(lab, lab.new_key());
  const Answer both = lab.send(lab.raw_request({one, two}, payload));
  if (both.status == 0 || both.status >= 500) return failed("two keys got " + both.shown());
  if (!both.ok()) return passed("refused with " + both.shown());
  for (const std::string& key : {one, two}) {
    const Answer alone = lab.settle(lab.raw_request({key}, payload));
    if (lab.witness().known() ? lab.same(both, alone) : !alone.ok()) {
      return failed("of two keys in a request, one was taken");
    }
  }
  return lab.witness().known() ? passed("both together are a key of their own")
                               : unproven("nothing in the answers tells executions apart");
}

constexpr Check kKey[] = {
    {"key/missing", Level::draft, "2.7", "a request without a key gets 400 where one is required",
     "", 1, 1, key_missing},
    {"key/missing-link", Level::draft, "2.7", "that refusal has a Link or a document that explains",
     "--required", 1, 0, key_missing_link},
    {"key/name-case", Level::draft, "RFC 9110 5.1", "the field's name is not case-sensitive", "", 2,
     1, key_name_case},
    {"key/long-distinct", Level::safety, "2.1, 5", "long keys that differ at their end differ", "",
     2, 2, key_long_distinct},
    {"key/case", Level::safety, "2.1", "keys that differ in case differ", "", 2, 2, key_case},
    {"key/prefix-distinct", Level::safety, "5", "keys that differ by *, % or _ differ", "", 5, 5,
     key_prefix_distinct},
    {"key/get-ignores", Level::safety, "1, RFC 9110 9.2.2",
     "GET with a used key gets its own answer", "", 2, 1, key_get_ignores},
    {"key/empty", Level::safety, "2.1", "empty keys are not one key", "", 4, 4, key_empty},
    {"key/repeated", Level::safety, "2.1", "two keys in a request are not one of them", "", 3, 3,
     key_repeated},
};

}  // namespace

std::span<const Check> key_checks() {
  return kKey;
}

}  // namespace semel::check
