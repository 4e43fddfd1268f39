#include "check/run.h"

#include <algorithm>

#include "check/calibration.h"

namespace semel::check {
namespace {

constexpr int kCalibrationRequests = 4;
constexpr int kCalibrationEffects = 3;

int badness(Verdict verdict) {
  switch (verdict) {
    case Verdict::failed:
      return 2;
    case Verdict::unproven:
      return 1;
    default:
      return 0;
  }
}

// Runs a check as often as asked; the worst finding counts.
Finding run_one(const Check& check, Lab& lab) {
  Finding worst;
  for (int i = 0; i < lab.options().repeat; ++i) {
    if (i > 0) lab.forget_observations();
    Finding found = check.run(lab);
    if (i == 0 || badness(found.verdict) > badness(worst.verdict)) worst = std::move(found);
    if (worst.verdict == Verdict::failed) break;
  }
  return worst;
}

void run_checks(Lab& lab, const Watch& watch, Report& report) {
  const Options& options = lab.options();
  std::vector<Check> chosen;
  for (const Check& check : all_checks()) {
    if (is_chosen(check, options)) chosen.push_back(check);
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Check& check = chosen[i];
    Result result{.check = check};
    if (!is_unlocked(check, options)) {
      result.finding = not_applicable(std::string(check.needs) + " unlocks it");
    } else if (!report.stopped.empty()) {
      result.finding = unproven("not run: " + report.stopped);
    } else {
      watch.begins(check, i + 1, chosen.size());
      try {
        result.finding = run_one(check, lab);
      } catch (const Stopped& stopped) {
        report.stopped = stopped.why;
        result.finding = unproven("not finished: " + stopped.why);
      }
      result.finding.why = lab.without_secrets(std::move(result.finding.why));
      result.exchanges = lab.take_shown();
    }
    report.results.push_back(std::move(result));
  }
}

}  // namespace

bool is_chosen(const Check& check, const Options& options) {
  if (options.only.empty()) return true;
  return std::ranges::any_of(options.only, [&](const std::string& one) {
    return check.id == one || check.id.starts_with(one + "/");
  });
}

bool is_unlocked(const Check& check, const Options& options) {
  if (check.needs.empty()) return true;
  if (check.needs == "--required") return options.key_required;
  if (check.needs == "--ttl") return options.ttl.has_value();
  return options.extra(check.needs) != nullptr;
}

Estimate estimate(const Options& options) {
  Estimate sum{.requests = kCalibrationRequests, .effects = kCalibrationEffects};
  for (const Check& check : all_checks()) {
    if (!is_chosen(check, options) || !is_unlocked(check, options)) continue;
    ++sum.checks;
    sum.requests += check.requests * options.repeat;
    sum.effects += check.effects * options.repeat;
  }
  return sum;
}

Grade grade_of(const Report& report, Level level) {
  Grade grade;
  for (const Result& result : report.results) {
    if (result.check.level != level) continue;
    if (result.finding.verdict == Verdict::passed) ++grade.passed;
    if (result.finding.verdict == Verdict::passed || result.finding.verdict == Verdict::failed) {
      ++grade.graded;
    }
  }
  return grade;
}

int count_of(const Report& report, Verdict verdict) {
  return static_cast<int>(std::ranges::count_if(
      report.results, [&](const Result& result) { return result.finding.verdict == verdict; }));
}

int exit_code(const Report& report, const Options& options) {
  if (!report.unusable.empty()) return kExitUnusable;
  const auto fails = [&](Level level) {
    const Grade grade = grade_of(report, level);
    return grade.passed < grade.graded;
  };
  if (fails(Level::safety)) return kExitSafetyFailed;
  if (fails(Level::draft) || (options.strict && fails(Level::profile))) return kExitDraftFailed;
  return kExitPassed;
}

Report run(const Options& options, const Watch& watch) {
  const auto begun = std::chrono::steady_clock::now();
  Report report{.url = options.target.url(), .method = options.method};
  Client client(options, watch.interrupted);
  Lab lab(options, client);
  try {
    report.unusable = calibrate(lab);
    lab.take_shown();
  } catch (const Stopped& stopped) {
    report.unusable = stopped.why;
  }
  if (report.unusable.empty()) run_checks(lab, watch, report);
  report.requests = client.requests();
  report.counted = lab.counter().given();
  report.effects = lab.effects();
  report.witness = lab.witness().places();
  report.witnesses.assign(lab.witnesses().begin(), lab.witnesses().end());
  report.behaviour = lab.behaviour();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return report;
}

}  // namespace semel::check
