#include <fmt/format.h>

#include <algorithm>

#include "check/report/report.h"

namespace semel::check {
namespace {

constexpr std::size_t kIdColumns = 25;

char letter_of(Level level) {
  constexpr std::string_view kLetters = "SDPI";
  return kLetters[static_cast<std::size_t>(level)];
}

std::string_view sign_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "✓";
    case Verdict::failed:
      return "✗";
    case Verdict::unproven:
      return "?";
    case Verdict::not_applicable:
      return "–";
    case Verdict::said:
      return "·";
  }
  return " ";
}

std::string coloured(const TextStyle& style, Verdict verdict, std::string text) {
  if (!style.colour) return text;
  if (verdict == Verdict::failed) return "\x1b[31m" + text + "\x1b[0m";
  if (verdict == Verdict::passed) return "\x1b[32m" + text + "\x1b[0m";
  if (verdict == Verdict::unproven) return "\x1b[33m" + text + "\x1b[0m";
  return text;
}

std::string result_lines(const Result& result, const TextStyle& style) {
  const Finding& finding = result.finding;
  std::string id(result.check.id);
  id.resize(std::max(id.size(), kIdColumns), ' ');
  std::string section = shown_section(result.check.section);
  const std::string& why = finding.why;
  std::string out = "  " +
                    coloured(style, finding.verdict,
                             fmt::format("{} {} {}", sign_of(finding.verdict),
                                         letter_of(result.check.level), id)) +
                    fmt::format(" {}   {}\n", section,
                                why.empty() ? std::string(result.check.what) : printable(why));
  if (!style.all) return out;
  for (const Shown& one : result.exchanges) {
    out += fmt::format("        {}  key {}  → {}  {}\n", printable(one.request), printable(one.key),
                       printable(one.answer), printable(one.body));
  }
  return out;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out.empty() ? "none" : out;
}

std::string locked_line(const Report& report) {
  std::vector<std::string> options;
  for (const Result& result : report.results) {
    if (result.finding.verdict != Verdict::not_applicable || result.check.needs.empty()) continue;
    std::string option(result.check.needs);
    if (std::ranges::find(options, option) == options.end()) options.push_back(std::move(option));
  }
  return options.empty() ? "" : "  More checks with: " + joined(options) + "\n";
}

}  // namespace

std::string text_report(const Report& report, const TextStyle& style) {
  std::string out = fmt::format("{}   {}   {} requests, {} effects{}, {:.0f} s   witness: {}\n\n",
                                report.url, report.method, report.requests, report.effects,
                                report.counted ? " (counted)" : "", report.seconds,
                                printable(joined(report.witness)));
  if (!report.unusable.empty())
    return out + "  Cannot be checked: " + printable(report.unusable) + "\n";
  out += fmt::format(
      "  safety   {}     draft   {}     profile   {}     {} not applicable     {} unproven\n\n",
      shown(grade_of(report, Level::safety)), shown(grade_of(report, Level::draft)),
      shown(grade_of(report, Level::profile)), count_of(report, Verdict::not_applicable),
      count_of(report, Verdict::unproven));
  bool any = false;
  for (const Result& result : report.results) {
    const Verdict verdict = result.finding.verdict;
    if (!style.all && verdict != Verdict::failed && verdict != Verdict::unproven) continue;
    out += result_lines(result, style);
    if (verdict == Verdict::failed && !style.all) {
      out += fmt::format("  {:30}Show it:  semel check … --only {} -v\n", "", result.check.id);
    }
    any = true;
  }
  if (any) out += "\n";
  if (!report.stopped.empty()) out += "  Ended early: " + report.stopped + "\n";
  if (const std::string how = behaviour_line(report); !how.empty()) {
    out += "  How it behaves: " + printable(how) + "\n";
  }
  out += locked_line(report);
  return out;
}

std::string plan_text(const Options& options) {
  const Estimate sum = estimate(options);
  std::string out =
      fmt::format("{} {}: {} checks, about {} requests and {} effects\n\n", options.method,
                  options.target.url(), sum.checks, sum.requests, sum.effects);
  for (const Check& check : all_checks()) {
    if (!is_chosen(check, options)) continue;
    const bool unlocked = is_unlocked(check, options);
    std::string id(check.id);
    id.resize(std::max(id.size(), kIdColumns), ' ');
    out += fmt::format("  {} {} {} {}{}\n", unlocked ? " " : "–", letter_of(check.level), id,
                       check.what,
                       unlocked ? std::string() : fmt::format("  (unlocked by {})", check.needs));
  }
  return out;
}

}  // namespace semel::check
