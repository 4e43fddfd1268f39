#include <fmt/format.h>

#include "check/lab.h"

// Duplicates all through the run of a slow request: they find a lock that ends before its work.
namespace semel::check {
namespace {

constexpr int kDuplicates = 6;

Finding inflight_slow(Lab& lab) {
  Effects effects(lab);
  const double seconds = lab.calibration().slow_seconds;
  if (seconds < 0.2) return unproven("--slow-body was answered within 0.2 s");
  const Request request = lab.request(lab.new_key(), lab.extra_payload("--slow-body"));
  std::vector<Line> lines;
  lines.push_back(lab.client().open(request));
  lines.back().send_rest();
  const auto step = Milliseconds(static_cast<long>(seconds * 1000 / (kDuplicates + 1)));
  for (int i = 1; i <= kDuplicates; ++i) {
    lab.client().pause(step);
    lines.push_back(lab.client().open(request));
    lines.back().send_rest();
  }
  for (Line& line : lines) {
    const Answer answer = lab.answer_of(line);
    effects.saw(answer);
  }
  const Answer after = lab.settle(request);
  effects.saw(after);
  if (!after.ok()) return failed("afterwards, a retry got " + after.shown());
  return effects.expect(
      1, fmt::format("a request of {:.1f} s and {} duplicates while it ran", seconds, kDuplicates));
}

constexpr Check kInflight[] = {
    {"inflight/slow", Level::safety, "2.6",
     "duplicates all through the run of a slow request have no effect", "--slow-body",
     kDuplicates + 2, 1, inflight_slow},
};

}  // namespace

std::span<const Check> inflight_checks() {
  return kInflight;
}

}  // namespace semel::check
