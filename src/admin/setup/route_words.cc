#include "admin/setup/route_words.h"

#include <fmt/format.h>

namespace semel::admin {
namespace {

using config::InProgress;
using config::KeySource;
using config::RouteConfig;

// 86400000 ms: "1d"; 90000 ms: "90s".
std::string in_words(Duration duration) {
  struct Unit {
    Duration length;
    const char* name;
  };
  const Unit units[] = {{std::chrono::days(1), "d"},
                        {std::chrono::hours(1), "h"},
                        {std::chrono::minutes(1), "m"},
                        {std::chrono::seconds(1), "s"}};
  for (const Unit& unit : units) {
    if (duration >= unit.length && duration % unit.length == Duration{0}) {
      return fmt::format("{}{}", duration / unit.length, unit.name);
    }
  }
  return fmt::format("{}ms", duration.count());
}

std::string about_key(const RouteConfig& route) {
  if (route.webhook) {
    return fmt::format("Takes signed events of {}; the key is in the event.",
                       route.webhook->scheme.name);
  }
  const char* is = route.key.required ? "required" : "optional";
  switch (route.key.from) {
    case KeySource::header:
      return fmt::format("A key is {}, in the header {}.", is, route.key.header);
    case KeySource::pointer:
      return fmt::format("A key is {}, at {} in the body.", is, route.key.pointer);
    case KeySource::fingerprint:
      return "The request is its own key: the same request is the same operation.";
  }
  return {};
}

std::string about_duplicates(const RouteConfig& route) {
  switch (route.in_progress) {
    case InProgress::conflict:
      return fmt::format("While the first request runs, the same key gets {}.",
                         route.status_in_progress);
    case InProgress::wait:
      return fmt::format("While the first request runs, the same key waits up to {}.",
                         in_words(route.wait_timeout));
    case InProgress::accept:
      return "While the first request runs, the same key gets 202 and an address to ask.";
  }
  return {};
}

std::string about_unknown(const RouteConfig& route) {
  switch (route.operation.unknown) {
    case UnknownPolicy::hold:
      return "An unknown outcome is held until an operator decides.";
    case UnknownPolicy::retry:
      return "After an unknown outcome, the request is executed again.";
    case UnknownPolicy::fail:
      return "An unknown outcome counts as a failure.";
    case UnknownPolicy::probe:
      return "After an unknown outcome, the executor is asked what became of the request.";
  }
  return {};
}

std::string about_scope(const RouteConfig& route) {
  switch (route.scope) {
    case config::ScopeKind::operation:
      return "A key counts for this operation.";
    case config::ScopeKind::path:
      return "A key counts for each path of its own.";
    case config::ScopeKind::tenant:
      return "A key counts for all operations of its tenant.";
  }
  return {};
}

std::string about_answers(const RouteConfig& route) {
  std::string text = fmt::format("Answers are kept for {}", in_words(route.operation.ttl));
  if (route.operation.ttl_from_creation) text += " from the first request on";
  if (route.operation.tombstone > Duration{0}) {
    text += fmt::format(", and the key is refused for {} after that",
                        in_words(route.operation.tombstone));
  }
  return text + ".";
}

}  // namespace

std::vector<std::string> words_about(const RouteConfig& route) {
  std::vector<std::string> words;
  if (route.methods.empty()) return {"Requests are passed on; none has a key."};
  if (route.mode == config::Mode::observe) {
    words.emplace_back("Only observes: every request is passed on, and counted as it would be.");
  }
  words.push_back(about_key(route));
  words.push_back(about_scope(route));
  words.push_back(about_duplicates(route));
  words.push_back(about_answers(route));
  words.push_back(about_unknown(route));
  if (route.webhook && route.webhook->mode == config::WebhookMode::queue) {
    words.push_back(fmt::format("Events are answered with 202 and tried up to {} times.",
                                route.webhook->max_attempts));
  }
  if (route.completes == config::Completes::executor) {
    words.emplace_back("The executor writes the record, in the transaction of its effect.");
  }
  if (route.reauthorize) words.emplace_back("Replays are given only to those who may see them.");
  return words;
}

}  // namespace semel::admin
