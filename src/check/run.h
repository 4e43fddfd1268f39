#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check/lab.h"

// Runs the checks against one endpoint.
//
//   check::Options options{.target = *check::parse_target("http://127.0.0.1:8080/charges")};
//   const check::Report report = check::run(options, {});
//   return check::exit_code(report, options);
namespace semel::check {

struct Result {
  Check check;
  Finding finding{};
  std::vector<Shown> exchanges{};
};

struct Report {
  std::string url;
  std::string method;
  std::string unusable{};  // why the endpoint cannot be checked; "": it can
  std::string stopped{};   // why the run ended early; "": it did not
  int requests = 0;
  long effects = 0;
  double seconds = 0;
  bool counted = false;  // effects are the counter's, not only witnesses
  std::vector<std::string> witness{};
  std::vector<std::string> witnesses{};  // of all that was made, for cleaning up
  Behaviour behaviour{};
  std::vector<Result> results{};
};

struct Grade {
  int passed = 0;
  int graded = 0;
};

Grade grade_of(const Report& report, Level level);
int count_of(const Report& report, Verdict verdict);

inline constexpr int kExitPassed = 0;
inline constexpr int kExitDraftFailed = 1;
inline constexpr int kExitSafetyFailed = 3;
inline constexpr int kExitUnusable = 4;
inline constexpr int kExitNotSafe = 5;
int exit_code(const Report& report, const Options& options);

// Returns whether `--only` leaves the check in.
bool is_chosen(const Check& check, const Options& options);
// Returns whether the option that the check needs is given.
bool is_unlocked(const Check& check, const Options& options);

// How much a run will send at least, and change.
struct Estimate {
  int checks = 0;
  int requests = 0;
  int effects = 0;
};
Estimate estimate(const Options& options);

struct Watch {
  // Called before each check, with its place and how many there are.
  std::function<void(const Check& check, std::size_t place, std::size_t count)> begins =
      [](const Check&, std::size_t, std::size_t) {};
  std::function<bool()> interrupted = [] { return false; };
};

// Throws std::runtime_error if the file of authorities cannot be used.
Report run(const Options& options, const Watch& watch);

}  // namespace semel::check
