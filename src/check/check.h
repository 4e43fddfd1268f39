#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// One check: what it is, and what came of it.
//
//   Adding one: write `Finding family_name(Lab& lab)` in checks/family.cc, and add its row to the
//   table at the end of that file; docs/check.md has a row for each id, and a test compares them.
namespace semel::check {

class Lab;

enum class Level {
  safety,   // an effect twice, an answer for somebody else, a key that is stuck
  draft,    // a MUST or SHOULD of the draft
  profile,  // good practice
  info,     // said, not graded
};

enum class Verdict {
  passed,
  failed,
  unproven,        // nothing bad was seen, but nothing could prove it
  not_applicable,  // an option is missing that unlocks it, or the endpoint does not do that
  said,            // how the endpoint behaves, which is its own choice
};

std::string_view name_of(Level level);
std::string_view name_of(Verdict verdict);

struct Finding {
  Verdict verdict = Verdict::unproven;
  std::string why;
};

Finding passed(std::string why = {});
Finding failed(std::string why);
Finding unproven(std::string why);
Finding not_applicable(std::string why);
Finding said(std::string why);

struct Check {
  std::string_view id;  // family/name; stable
  Level level;
  std::string_view section;  // of the draft, or another document
  std::string_view what;
  std::string_view needs;  // the option that unlocks it; "": none
  int requests;            // how many it makes, about; checks that share observations share them
  int effects;             // how many effects they have on a service that is right
  Finding (*run)(Lab& lab);
};

// The families, in the order in which they run.
std::span<const Check> first_checks();
std::span<const Check> retry_checks();
std::span<const Check> replay_checks();
std::span<const Check> mismatch_checks();
std::span<const Check> key_checks();
std::span<const Check> key_syntax_checks();
std::span<const Check> race_checks();
std::span<const Check> inflight_checks();
std::span<const Check> lost_checks();
std::span<const Check> tenant_checks();
std::span<const Check> outcome_checks();
std::span<const Check> expiry_checks();
std::span<const Check> delete_checks();

std::vector<Check> all_checks();

}  // namespace semel::check
