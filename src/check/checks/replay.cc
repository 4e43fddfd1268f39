#include <fmt/format.h>

#include <boost/json/parse.hpp>

#include "check/calibration.h"
#include "check/lab.h"

// The answer to a retry is that of the first time.
namespace semel::check {
namespace {

constexpr Milliseconds kDateStep{1100};  // Date has seconds

struct Replayed {
  std::string key;
  Answer first{};
  Answer retry{};
  bool executed_again = false;
};

Replayed replay_pair(Lab& lab) {
  Replayed pair{.key = lab.new_key()};
  const Request request = lab.request(pair.key, lab.payload());
  pair.first = lab.send(request);
  pair.retry = lab.settle(request);
  pair.executed_again =
      lab.witness().known() && pair.retry.ok() && !lab.same(pair.first, pair.retry);
  return pair;
}

Finding about_another() {
  return unproven("the retry was executed: see retry/one-effect");
}

Finding retry_status(Lab& lab) {
  const Replayed& pair = lab.observed(replay_pair);
  if (pair.retry.status == pair.first.status) return passed();
  return failed(
      fmt::format("the first got {}, its retry {}", pair.first.status, pair.retry.shown()));
}

bool is_equal_json(const std::string& a, const std::string& b) {
  boost::system::error_code error;
  const auto one = boost::json::parse(a, error);
  if (error) return false;
  const auto other = boost::json::parse(b, error);
  return !error && one == other;
}

Finding retry_body(Lab& lab) {
  const Replayed& pair = lab.observed(replay_pair);
  if (pair.executed_again) return about_another();
  if (!pair.retry.ok()) return unproven("there is no answer to compare: see retry/status");
  if (pair.retry.body == pair.first.body) return passed();
  if (is_equal_json(pair.first.body, pair.retry.body)) {
    return failed("the retry got the same JSON in other bytes");
  }
  if (!lab.witness().known() || pair.retry.body.empty()) {
    return failed("the retry got another body");
  }
  lab.behaves("a retry", "gets the current state");
  const std::string why = "the retry got the current state of what the first made";
  return lab.options().strict ? failed(why) : said(why + "; a failure with --strict");
}

Finding retry_headers(Lab& lab) {
  const Replayed& pair = lab.observed(replay_pair);
  if (pair.executed_again) return about_another();
  if (!pair.retry.ok()) return unproven("there is no answer to compare: see retry/status");
  for (const char* name : {"Content-Type", "Location"}) {
    if (pair.first.get(name) == pair.retry.get(name)) continue;
    return failed(fmt::format("{} was '{}' and is '{}' in the replay", name, pair.first.get(name),
                              pair.retry.get(name)));
  }
  return passed();
}

Finding retry_marker(Lab& lab) {
  const Replayed& pair = lab.observed(replay_pair);
  if (pair.executed_again) return about_another();
  const std::string marker = find_marker(pair.first, pair.retry, pair.key);
  if (marker.empty()) return failed("nothing tells a replay from a first answer");
  lab.behaves("replays", fmt::format("are marked with {}", marker));
  return passed(fmt::format("{}: {}", marker, pair.retry.get(marker)));
}

Finding retry_no_cookie(Lab& lab) {
  const Replayed& pair = lab.observed(replay_pair);
  if (pair.executed_again) return about_another();
  if (!pair.first.has("Set-Cookie")) return not_applicable("the answer sets no cookie");
  if (pair.first.get("Set-Cookie") != pair.retry.get("Set-Cookie")) return passed();
  return failed("the first answer's Set-Cookie was replayed");
}

Finding retry_date(Lab& lab) {
  const Request request = lab.request(lab.new_key(), lab.payload());
  const Answer first = lab.send(request);
  if (!first.has("Date")) return not_applicable("the answer has no Date");
  lab.client().pause(kDateStep);
  const Answer retry = lab.settle(request);
  if (!retry.has("Date")) return not_applicable("the replay has no Date");
  if (retry.get("Date") != first.get("Date")) return passed();
  return failed(fmt::format("the replay has the first answer's Date, {}", first.get("Date")));
}

Finding retry_large(Lab& lab) {
  const Request request = lab.request(lab.new_key(), lab.extra_payload("--large-body"));
  const Answer first = lab.send(request);
  if (!first.ok()) return unproven("--large-body got " + first.shown());
  const Answer retry = lab.settle(request);
  if (lab.witness().known() && retry.ok() && !retry.body.empty() &&
      !lab.witness().of(retry).empty() && !lab.same(first, retry)) {
    return about_another();
  }
  if (retry.body == first.body) return passed(fmt::format("{} bytes", first.body.size()));
  if (lab.witness().known() && lab.same(first, retry) && retry.body.size() >= first.body.size()) {
    return unproven("it is whole, but other bytes: see retry/body");
  }
  for (const auto& [name, value] : retry.fields) {
    if (retry.body.empty() && value.contains("omitted")) {
      lab.behaves("large answers", "are replayed without their body, which is said");
      return passed(fmt::format("{}: {}", name, value));
    }
  }
  return failed(
      fmt::format("the first had {} bytes, its replay {}", first.body.size(), retry.body.size()));
}

Finding retry_error(Lab& lab) {
  const Request request = lab.request(lab.new_key(), lab.extra_payload("--error-body"));
  const Answer first = lab.send(request);
  if (first.ok() || first.status == 0) return unproven("--error-body got " + first.shown());
  const Answer retry = lab.settle(request);
  if (retry.status != first.status) {
    return failed(fmt::format("the first got {}, its retry {}", first.status, retry.shown()));
  }
  const bool kept = lab.is_marked(retry);
  lab.behaves("errors", kept                       ? "are kept"
                        : retry.body == first.body ? "are kept, or made again with the same bytes"
                                                   : "are made again");
  return passed();
}

constexpr Check kReplay[] = {
    {"retry/status", Level::draft, "2.6", "a retry gets the first one's status", "", 2, 1,
     retry_status},
    {"retry/body", Level::draft, "2.6", "a retry gets the first one's body, byte for byte", "", 0,
     0, retry_body},
    {"retry/headers", Level::draft, "2.6", "a retry gets the first one's Content-Type and Location",
     "", 0, 0, retry_headers},
    {"retry/marker", Level::profile, "tracker #46", "a field tells replays from first answers", "",
     0, 0, retry_marker},
    {"retry/no-cookie", Level::profile, "5", "cookies are not replayed", "", 0, 0, retry_no_cookie},
    {"retry/date", Level::profile, "RFC 9110 6.6.1", "the Date of a replay is that of the replay",
     "", 2, 1, retry_date},
    {"retry/large", Level::draft, "2.6",
     "a large answer is replayed whole, or the replay says that its body is omitted",
     "--large-body", 2, 1, retry_large},
    {"retry/error", Level::draft, "2.6", "the retry of an error gets the same status",
     "--error-body", 2, 0, retry_error},
};

}  // namespace

std::span<const Check> replay_checks() {
  return kReplay;
}

}  // namespace semel::check
