#include "check/calibration.h"

#include <fmt/format.h>

#include "base/text.h"

namespace semel::check {
namespace {

// Tries a new key as a String, and bare if the endpoint refuses that.
Answer first_answer(Lab& lab, const std::string& key, const std::string& payload) {
  Answer answer = lab.send(lab.request(key, payload));
  if (answer.ok() || answer.status == 0) return answer;
  lab.calibration().quoted = false;
  Answer bare = lab.send(lab.request(key, payload));
  if (bare.ok()) return bare;
  lab.calibration().quoted = true;
  return answer;
}

// Another payload must be accepted with a key of its own; only then does a refusal of it say
// something about keys.
void try_other_payload(Lab& lab) {
  Calibration& found = lab.calibration();
  found.varies = true;
  const auto other = lab.other_payload();
  if (!other) {
    found.unvarying = "the body has nothing to vary; give --other-body";
  } else {
    const Answer answer = lab.send(lab.request(lab.new_key(), *other));
    if (answer.ok()) return;
    found.unvarying = fmt::format("another payload got {} with a key of its own; give --other-body",
                                  answer.shown());
  }
  found.varies = false;
}

void measure_slow(Lab& lab) {
  if (lab.options().extra("--slow-body") == nullptr) return;
  const auto begun = std::chrono::steady_clock::now();
  lab.send(lab.request(lab.new_key(), lab.extra_payload("--slow-body")));
  lab.calibration().slow_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

std::string find_marker(const Answer& first, const Answer& replay, std::string_view key) {
  // A name that says it comes before one that only has to do with keys, such as an expiry.
  for (const std::string_view word : {"replay", "idempot"}) {
    for (const auto& [name, value] : replay.fields) {
      if (!base::lower_case(name).contains(word) || value.contains(key)) continue;
      if (!first.has(name) || first.get(name) != value) return name;
    }
  }
  return {};
}

std::string calibrate(Lab& lab) {
  if (lab.counter().given()) {
    if (const auto count = lab.counter().read(); !count) return count.error();
  }
  lab.begin_counting();
  Calibration& found = lab.calibration();
  const std::string key = lab.new_key();
  const std::string payload = lab.payload();
  found.first = first_answer(lab, key, payload);
  if (!found.first.ok()) {
    return fmt::format("a request with a new key got {} instead of 2xx: {}", found.first.shown(),
                       lab.take_shown().back().body);
  }
  const Answer second = lab.send(lab.request(lab.new_key(), payload));
  const Answer retry = lab.settle(lab.request(key, payload));
  found.witness = Witness(found.first, key, second, retry);
  found.marker = find_marker(found.first, retry, key);
  found.marker_value = retry.get(found.marker);
  try_other_payload(lab);
  measure_slow(lab);
  return {};
}

}  // namespace semel::check
