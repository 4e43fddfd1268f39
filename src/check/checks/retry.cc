#include <fmt/format.h>

#include "check/lab.h"

// A retry has no effect, however it comes.
namespace semel::check {
namespace {

constexpr int kManyTimes = 10;

struct Sent {
  std::string key;
  Request request{};
  Answer first{};
};

Sent send_first(Lab& lab) {
  Sent sent{.key = lab.new_key()};
  sent.request = lab.request(sent.key, lab.payload());
  sent.first = lab.send(sent.request);
  return sent;
}

// A retry must not be refused, and must not be executed.
Finding judge_retry(Effects& effects, const Answer& first, const Answer& retry,
                    std::string_view how) {
  if (!retry.ok() && retry.status != first.status) {
    return failed(fmt::format("{} got {}", how, retry.shown()));
  }
  effects.saw(first);
  effects.saw(retry);
  return effects.expect(1, fmt::format("a request and {}", how));
}

Finding retry_one_effect(Lab& lab) {
  Effects effects(lab);
  const Sent sent = send_first(lab);
  const Answer retry = lab.settle(sent.request);
  effects.saw(sent.first);
  effects.saw(retry);
  return effects.expect(1, "a request and its retry");
}

Finding retry_at_once(Lab& lab) {
  const std::string key = lab.new_key();
  const Request request = lab.request(key, lab.payload());
  Line line = lab.client().open(request);
  line.send_rest();
  const Answer first = lab.answer_of(line);
  Answer retry;
  if (first.keeps_open) {
    line.next(request);
    line.send_rest();
    retry = lab.answer_of(line);
  }
  // A connection may be closed although nothing announced it.
  if (retry.status == 0) retry = lab.send(request);
  if (retry.ok() || retry.status == first.status) return passed();
  return failed(fmt::format("a retry right after the answer got {}", retry.shown()));
}

Finding retry_ten_times(Lab& lab) {
  Effects effects(lab);
  Sent sent = send_first(lab);
  effects.saw(sent.first);
  sent.request.set("Connection", "close");
  for (int i = 1; i <= kManyTimes; ++i) {
    const Answer retry = lab.settle(sent.request);
    effects.saw(retry);
    if (!retry.ok()) return failed(fmt::format("retry {} got {}", i, retry.shown()));
  }
  return effects.expect(1, fmt::format("a request and {} retries", kManyTimes));
}

Finding retry_new_connection(Lab& lab) {
  Effects effects(lab);
  const Request request = lab.request(lab.new_key(), lab.payload());
  Line line = lab.client().open(request);
  line.send_rest();
  const Answer first = lab.answer_of(line);
  // The first connection stays open: the retry may come by another way.
  const Answer retry = lab.settle(request);
  return judge_retry(effects, first, retry, "its retry on another connection");
}

Finding retry_other_headers(Lab& lab) {
  Effects effects(lab);
  Sent sent{.key = lab.new_key()};
  sent.request = lab.request(sent.key, lab.payload());
  sent.request.set("Accept-Encoding", "identity");
  sent.first = lab.send(sent.request);
  Request retry = sent.request;
  retry.set("Accept-Encoding", "gzip");
  retry.set("User-Agent", "semel-check/" SEMEL_VERSION " (retry)");
  retry.set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  const Answer answer = lab.settle(retry);
  return judge_retry(effects, sent.first, answer,
                     "its retry with another Accept-Encoding, User-Agent and traceparent");
}

Finding retry_json_order(Lab& lab) {
  const std::string payload = lab.payload();
  const auto reordered = reordered_json(payload);
  if (!reordered) return not_applicable("the body is no JSON object with two members or more");
  const std::string key = lab.new_key();
  const Answer first = lab.send(lab.request(key, payload));
  const Answer retry = lab.settle(lab.request(key, *reordered));
  if (retry.ok() && lab.same(first, retry)) {
    lab.behaves("the order of JSON members", "does not matter");
    return said("members in another order are the same request");
  }
  lab.behaves("the order of JSON members", "matters");
  return said("members in another order got " + retry.shown());
}

Finding retry_after_restart(Lab& lab) {
  Effects effects(lab);
  const Sent sent = send_first(lab);
  if (!sent.first.ok()) return failed("a new key got " + sent.first.shown());
  const auto done = run_command(*lab.options().extra("--restart-cmd"), "", "");
  if (!done) return unproven(done.error());
  Answer retry;
  for (int waited = 0; waited < 100; ++waited) {
    retry = lab.settle(sent.request);
    if (retry.status != 0 && retry.status != 502 && retry.status != 503) break;
    lab.client().pause(Milliseconds(200));
  }
  if (!retry.ok()) return failed("after the restart, the retry got " + retry.shown());
  return judge_retry(effects, sent.first, retry, "its retry after a restart");
}

constexpr Check kRetry[] = {
    {"retry/one-effect", Level::safety, "2.6", "a retry has no effect", "", 2, 1, retry_one_effect},
    {"retry/at-once", Level::draft, "2.6", "a retry right after the answer is not refused", "", 2,
     1, retry_at_once},
    {"retry/ten-times", Level::safety, "2.6", "ten retries on new connections have no effect", "",
     11, 1, retry_ten_times},
    {"retry/new-connection", Level::safety, "2.6",
     "a retry has no effect while the first connection is still open", "", 2, 1,
     retry_new_connection},
    {"retry/other-headers", Level::safety, "2.4",
     "a retry with another Accept-Encoding, User-Agent or trace is still a retry", "", 2, 1,
     retry_other_headers},
    {"retry/json-order", Level::info, "2.4", "whether the order of JSON members matters", "", 2, 1,
     retry_json_order},
    {"retry/after-restart", Level::safety, "2.6", "a retry has no effect after a restart",
     "--restart-cmd", 2, 1, retry_after_restart},
};

}  // namespace

std::span<const Check> retry_checks() {
  return kRetry;
}

}  // namespace semel::check
