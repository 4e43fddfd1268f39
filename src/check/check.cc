#include "check/check.h"

#include "base/names.h"

namespace semel::check {
namespace {

constexpr auto kLevels = base::names<Level::info>({
    {Level::safety, "safety"},
    {Level::draft, "draft"},
    {Level::profile, "profile"},
    {Level::info, "info"},
});
constexpr auto kVerdicts = base::names<Verdict::said>({
    {Verdict::passed, "passed"},
    {Verdict::failed, "failed"},
    {Verdict::unproven, "unproven"},
    {Verdict::not_applicable, "n/a"},
    {Verdict::said, "said"},
});

}  // namespace

std::string_view name_of(Level level) {
  return kLevels[level];
}
std::string_view name_of(Verdict verdict) {
  return kVerdicts[verdict];
}

Finding passed(std::string why) {
  return {Verdict::passed, std::move(why)};
}
Finding failed(std::string why) {
  return {Verdict::failed, std::move(why)};
}
Finding unproven(std::string why) {
  return {Verdict::unproven, std::move(why)};
}
Finding not_applicable(std::string why) {
  return {Verdict::not_applicable, std::move(why)};
}
Finding said(std::string why) {
  return {Verdict::said, std::move(why)};
}

std::vector<Check> all_checks() {
  std::vector<Check> all;
  for (const auto family : {first_checks, retry_checks, replay_checks, mismatch_checks, key_checks,
                            key_syntax_checks, race_checks, inflight_checks, lost_checks,
                            tenant_checks, outcome_checks, expiry_checks, delete_checks}) {
    const auto checks = family();
    all.insert(all.end(), checks.begin(), checks.end());
  }
  return all;
}

}  // namespace semel::check
