#include "config/reading/route/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/probe_url.h"
#include "http/fields/never_kept.h"

namespace semel::config::reading {
namespace {

constexpr std::size_t kResourceTypeLengthMax = 64;
// Members are kept in every record of the route.
constexpr std::size_t kDescribedMax = 16;
constexpr std::size_t kDescribedPointerLengthMax = 128;
// Names that messages suggest instead of a header with another use.
constexpr std::string_view kKeyHeader = "Idempotency-Key";
constexpr std::string_view kReplayedHeader = "Idempotency-Replayed";

void read_pointer(const Field& field, std::string& out) {
  const std::optional<std::string> pointer = field.text();
  if (!pointer) return;
  out = *pointer;
  if (!check_pointer(*pointer)) {
    field.bad_value(
        "is not a JSON Pointer to a member; write it like /amount or /items/*/id, with ~0 for '~' "
        "and ~1 for '/' in a name");
  }
}

void read_pointers(const Field& field, std::vector<std::string>& out) {
  std::vector<std::string> pointers;
  for (const Field& item : field.items()) read_pointer(item, pointers.emplace_back());
  out = std::move(pointers);
}

void read_lower_case_header_names(const Field& field, std::vector<std::string>& out) {
  field.read_header_names(out);
  for (std::string& name : out) name = base::lower_case(name);
}

void read_fingerprint_headers(const Field& field, FingerprintConfig& out) {
  // Headers that differ between honest retries, or are a secret.
  constexpr std::array<std::string_view, 5> kNeverHashed = {"authorization", "proxy-authorization",
                                                            "date", "traceparent", "tracestate"};
  read_lower_case_header_names(field, out.headers);
  for (const Field& item : field.items()) {
    if (std::ranges::count(kNeverHashed, base::lower_case(item.node().text)) > 0) {
      item.bad_value("is never part of a fingerprint; remove it");
    }
  }
}

void read_allowed_headers(const Field& field, RouteConfig& out) {
  read_lower_case_header_names(field, out.replay_headers_allow);
  for (const Field& item : field.items()) {
    if (http::is_never_kept(item.node().text)) {
      item.bad_value("is never stored, because it concerns only one request; remove it");
    }
  }
}

constexpr std::array kRouteKeyKeys = std::to_array<Key<KeyConfig>>({
    {"required", [](const Field& f, KeyConfig& out) { f.read(out.required); }},
    {"header",
     [](const Field& f, KeyConfig& out) { f.read_free_header_name(out.header, kKeyHeader); }},
    {"aliases",
     [](const Field& f, KeyConfig& out) {
       std::vector<std::string> names;
       for (const Field& item : f.items()) {
         item.read_free_header_name(names.emplace_back(), kKeyHeader);
       }
       out.aliases = std::move(names);
     }},
    {"from",
     [](const Field& f, KeyConfig& out) {
       read_choice(f,
                   {{"header", KeySource::header},
                    {"pointer", KeySource::pointer},
                    {"fingerprint", KeySource::fingerprint}},
                   out.from);
     }},
    {"pointer",
     [](const Field& f, KeyConfig& out) {
       // "" is the default and means none.
       if (f.node().kind == NodeKind::scalar && f.node().text.empty()) {
         out.pointer.clear();
       } else {
         read_pointer(f, out.pointer);
       }
     }},
    {"min_length",
     [](const Field& f, KeyConfig& out) { f.read_count(out.rules.min_length, 1, kKeyLengthMax); }},
    {"max_length",
     [](const Field& f, KeyConfig& out) { f.read_count(out.rules.max_length, 1, kKeyLengthMax); }},
    {"format",
     [](const Field& f, KeyConfig& out) {
       read_choice(
           f, {{"any", KeyFormat::any}, {"uuid", KeyFormat::uuid}, {"strong", KeyFormat::strong}},
           out.rules.format);
     }},
});

constexpr std::array kFingerprintKeys = std::to_array<Key<FingerprintConfig>>({
    {"body",
     [](const Field& f, FingerprintConfig& out) {
       read_choice(f,
                   {{"auto", BodyFingerprint::automatic},
                    {"json", BodyFingerprint::json},
                    {"form", BodyFingerprint::form},
                    {"raw", BodyFingerprint::raw},
                    {"none", BodyFingerprint::none},
                    {"multipart", BodyFingerprint::multipart},
                    {"digest", BodyFingerprint::digest}},
                   out.body);
     }},
    {"include", [](const Field& f, FingerprintConfig& out) { read_pointers(f, out.include); }},
    {"exclude", [](const Field& f, FingerprintConfig& out) { read_pointers(f, out.exclude); }},
    {"headers", read_fingerprint_headers},
    {"query", [](const Field& f, FingerprintConfig& out) { f.read(out.query); }},
});

constexpr std::array kReplayHeadersKeys = std::to_array<Key<RouteConfig>>({
    {"deny", [](const Field& f,
                RouteConfig& out) { read_lower_case_header_names(f, out.replay_headers_deny); }},
    {"allow", [](const Field& f, RouteConfig& out) { read_allowed_headers(f, out); }},
});

// A JSON Pointer begins with '/', a header's name cannot.
void read_resource_id(const Field& field, ResourceConfig& out) {
  const std::optional<std::string> id = field.text();
  if (!id || id->empty()) {
    if (id) out.id.clear();
  } else if (id->starts_with('/')) {
    read_pointer(field, out.id);
  } else {
    field.read_header_name(out.id);
  }
}

constexpr std::array kResourceKeys = std::to_array<Key<ResourceConfig>>({
    {"type",
     [](const Field& f, ResourceConfig& out) { f.read(out.type, 0, kResourceTypeLengthMax); }},
    {"id", read_resource_id},
});

void read_probe_url(const Field& field, Url& out) {
  const std::optional<std::string> text = field.text();
  if (!text) return;
  Parsed<Url> url = parse_url(*text);
  const std::string wrong = url ? probe_target_error(url->target) : url.error();
  if (!wrong.empty()) {
    field.bad_value(wrong);
    return;
  }
  out = *std::move(url);
}

constexpr std::array kProbeKeys = std::to_array<Key<ProbeConfig>>({
    {"url", [](const Field& f, ProbeConfig& out) { read_probe_url(f, out.url); }},
    {"timeout",
     [](const Field& f, ProbeConfig& out) {
       f.read(out.timeout, std::chrono::milliseconds(1), std::chrono::minutes(5));
     }},
});

void read_error_status(const Field& field, int& out) {
  std::size_t status = static_cast<std::size_t>(out);
  field.read_count(status, 400, 599);
  out = static_cast<int>(status);
}

constexpr std::array kStatusesKeys = std::to_array<Key<RouteConfig>>({
    {"mismatch",
     [](const Field& f, RouteConfig& out) { read_error_status(f, out.status_mismatch); }},
    {"in_progress",
     [](const Field& f, RouteConfig& out) { read_error_status(f, out.status_in_progress); }},
});

void read_pause(const Field& field, std::optional<Duration>& out) {
  Duration value = std::chrono::seconds(1);
  field.read(value, std::chrono::seconds(1), std::chrono::hours(24));
  out = value;
}

constexpr std::array kRetryAfterKeys = std::to_array<Key<RetryAfterConfig>>({
    {"in_progress", [](const Field& f, RetryAfterConfig& out) { read_pause(f, out.in_progress); }},
    {"unknown", [](const Field& f, RetryAfterConfig& out) { read_pause(f, out.unknown); }},
});

constexpr std::size_t kLimitMax = 1'000'000'000;

constexpr std::array kRouteLimitsKeys = std::to_array<Key<RouteLimits>>({
    {"new_keys_per_second",
     [](const Field& f, RouteLimits& out) { f.read_count(out.new_keys_per_second, 0, kLimitMax); }},
    {"burst", [](const Field& f, RouteLimits& out) { f.read_count(out.burst, 0, kLimitMax); }},
    {"live_keys",
     [](const Field& f, RouteLimits& out) { f.read_count(out.live_keys, 0, kLimitMax); }},
    {"in_flight",
     [](const Field& f, RouteLimits& out) { f.read_count(out.in_flight, 0, kLimitMax); }},
});

// The entries of one mapping. A status in two lists of one mapping is a mistake.
using OutcomeEntries = std::map<std::string, OutcomeKind>;

void read_outcome_entries(const Field& field, OutcomeKind kind, OutcomeEntries& out) {
  for (const Field& item : field.items()) {
    const std::optional<std::string> entry = item.text();
    if (!entry) continue;
    if (!OutcomeRules::standard().set(kind, {*entry})) {
      item.bad_value("is neither a status (100 to 599) nor a class (1xx to 5xx)");
      continue;
    }
    const auto [listed, is_new] = out.try_emplace(base::lower_case(*entry), kind);
    if (!is_new && listed->second != kind) {
      item.bad_value(
          fmt::format("is listed as {} and as {}", to_string(listed->second), to_string(kind)));
    }
  }
}

constexpr std::array kOutcomesKeys = std::to_array<Key<OutcomeEntries>>({
    {"final",
     [](const Field& f, OutcomeEntries& out) { read_outcome_entries(f, OutcomeKind::final, out); }},
    {"retry",
     [](const Field& f, OutcomeEntries& out) { read_outcome_entries(f, OutcomeKind::retry, out); }},
    {"unknown", [](const Field& f,
                   OutcomeEntries& out) { read_outcome_entries(f, OutcomeKind::unknown, out); }},
});

}  // namespace

void read_key(const Field& field, KeyConfig& out) {
  read_mapping(field, kRouteKeyKeys, out);
}

void read_fingerprint(const Field& field, FingerprintConfig& out) {
  read_mapping(field, kFingerprintKeys, out);
}

void read_replay_headers(const Field& field, RouteConfig& out) {
  read_mapping(field, kReplayHeadersKeys, out);
}

void read_replayed_header(const Field& field, std::string& out) {
  // Headers with a meaning of their own in answers of Semel, or in those of an executor to it.
  constexpr std::array<std::string_view, 7> kOwnHeaders = {"age",
                                                           "idempotency-degraded",
                                                           "idempotency-expires",
                                                           "idempotency-key",
                                                           "idempotency-outcome",
                                                           "idempotency-replay",
                                                           "semel-record"};
  if (std::ranges::count(kOwnHeaders, base::lower_case(field.node().text)) > 0) {
    field.bad_value("has another use in answers of Semel; choose another name, like " +
                    std::string(kReplayedHeader));
    return;
  }
  field.read_free_header_name(out, kReplayedHeader);
}

void read_describe(const Field& field, std::vector<std::string>& out) {
  std::vector<std::string> pointers;
  for (const Field& item : field.items(kDescribedMax)) {
    std::string pointer;
    read_pointer(item, pointer);
    if (pointer.size() > kDescribedPointerLengthMax) {
      item.bad_value(fmt::format("must have at most {} characters", kDescribedPointerLengthMax));
    } else if (pointer.ends_with("/*") || pointer.contains("/*/")) {
      item.bad_value("names one member; '*' is not allowed here, write an index like /items/0/id");
    } else if (std::ranges::count(pointers, pointer) > 0) {
      item.bad_value("is listed twice");
    }
    pointers.push_back(std::move(pointer));
  }
  out = std::move(pointers);
}

void read_resource(const Field& field, ResourceConfig& out) {
  read_mapping(field, kResourceKeys, out);
}

void read_probe(const Field& field, ProbeConfig& out) {
  read_mapping(field, kProbeKeys, out);
}

void read_statuses(const Field& field, RouteConfig& out) {
  read_mapping(field, kStatusesKeys, out);
}

void read_retry_after(const Field& field, RetryAfterConfig& out) {
  read_mapping(field, kRetryAfterKeys, out);
}

void read_limits(const Field& field, RouteLimits& out) {
  read_mapping(field, kRouteLimitsKeys, out);
  if (out.burst > 0 && out.new_keys_per_second == 0 && field.node().find("burst") != nullptr) {
    field.at("burst").error(
        "allowed only with new_keys_per_second, which says how fast it refills");
  }
}

void read_outcomes(const Field& field, OutcomePlan& out) {
  if (field.node().kind == NodeKind::scalar) {
    OutcomePlan preset;
    if (read_choice(field, {{"standard", false}, {"cautious", true}}, preset.is_cautious)) {
      out = preset;
    }
    return;
  }
  OutcomeEntries entries;
  read_mapping(field, kOutcomesKeys, entries);
  for (const auto& [entry, kind] : entries) out.kind_by_entry[entry] = kind;
}

OutcomeRules make_rules(const OutcomePlan& plan) {
  OutcomeRules rules = plan.is_cautious ? OutcomeRules::cautious() : OutcomeRules::standard();
  // Cannot fail: each entry was checked when it was read.
  for (const auto& [entry, kind] : plan.kind_by_entry) (void)rules.set(kind, {entry});
  return rules;
}

}  // namespace semel::config::reading
