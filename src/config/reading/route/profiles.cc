#include "config/reading/route/profiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <chrono>
#include <vector>

namespace semel::config::reading {
namespace {

using std::chrono::days;

void stripe(RouteDraft& draft) {
  draft.config.status_mismatch = 400;
  draft.config.errors = core::ErrorShape::nested;
  draft.config.replayed_header = "Idempotent-Replayed";
  // An answer of an execution that began is kept, a 500 too. 503 says that it did not begin.
  draft.outcomes.kind_by_entry = {{"5xx", OutcomeKind::final},
                                  {"503", OutcomeKind::retry},
                                  {"502", OutcomeKind::unknown},
                                  {"504", OutcomeKind::unknown}};
}

void adyen(RouteDraft& draft) {
  draft.config.key.rules.max_length = 64;
  draft.config.operation.ttl = days(7);
  draft.config.errors = core::ErrorShape::flat;
}

void paypal(RouteDraft& draft) {
  draft.config.key.header = "PayPal-Request-Id";
  draft.config.operation.ttl = days(45);
  draft.config.errors = core::ErrorShape::flat;
}

void square(RouteDraft& draft) {
  draft.config.key.from = KeySource::pointer;
  draft.config.key.pointer = "/idempotency_key";
  draft.config.key.required = true;
  draft.config.status_mismatch = 400;
  draft.config.errors = core::ErrorShape::flat;
}

void increase(RouteDraft& draft) {
  draft.config.key.rules.max_length = 200;
  draft.config.status_mismatch = 409;
  draft.config.replayed_header = "Idempotent-Replayed";
}

// Only successes are kept.
void telnyx(RouteDraft& draft) {
  draft.config.errors = core::ErrorShape::flat;
  draft.outcomes.kind_by_entry = {{"4xx", OutcomeKind::retry},
                                  {"5xx", OutcomeKind::retry},
                                  {"502", OutcomeKind::unknown},
                                  {"504", OutcomeKind::unknown}};
}

constexpr std::array kProfiles = std::to_array<Profile>({
    {"ietf", [](RouteDraft&) {}},
    {"stripe", stripe},
    {"adyen", adyen},
    {"paypal", paypal},
    {"square", square},
    {"increase", increase},
    {"telnyx", telnyx},
});

}  // namespace

const Profile& default_profile() {
  return kProfiles.front();
}

const Profile& read_profile(const Field& field) {
  const std::optional<std::string> value = field.text();
  if (!value) return default_profile();
  std::vector<std::string_view> names;
  for (const Profile& profile : kProfiles) {
    if (profile.name == *value) return profile;
    names.push_back(profile.name);
  }
  field.bad_value(fmt::format("is not a profile; use {}", fmt::join(names, ", ")));
  return default_profile();
}

}  // namespace semel::config::reading
