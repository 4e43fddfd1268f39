#include <fmt/format.h>

#include "check/report/report.h"

namespace semel::check {
namespace {

// Reports checks that are unproven or do not apply as skipped, so that no CI shows them as passed.
std::string test_case(const Result& result) {
  const std::size_t slash = result.check.id.find('/');
  std::string out = fmt::format("  <testcase classname=\"semel.check.{}\" name=\"{}\"",
                                result.check.id.substr(0, slash), result.check.id);
  const std::string why = markup_escaped(result.finding.why);
  switch (result.finding.verdict) {
    case Verdict::failed: {
      out += fmt::format(">\n    <failure type=\"{}\" message=\"{}\">{}\n",
                         name_of(result.check.level), why, markup_escaped(result.check.what));
      for (const Shown& one : result.exchanges) {
        out += fmt::format("{} key {} -> {} {}\n", markup_escaped(one.request),
                           markup_escaped(one.key), markup_escaped(one.answer),
                           markup_escaped(one.body));
      }
      return out + "</failure>\n  </testcase>\n";
    }
    case Verdict::unproven:
    case Verdict::not_applicable:
      return out + fmt::format(">\n    <skipped message=\"{}: {}\"/>\n  </testcase>\n",
                               name_of(result.finding.verdict), why);
    case Verdict::passed:
    case Verdict::said:
      break;
  }
  if (why.empty()) return out + "/>\n";
  return out + fmt::format(">\n    <system-out>{}</system-out>\n  </testcase>\n", why);
}

}  // namespace

std::string junit_report(const Report& report) {
  const int skipped =
      count_of(report, Verdict::unproven) + count_of(report, Verdict::not_applicable);
  const bool unusable = !report.unusable.empty();
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"semel check {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\""
      " time=\"{:.1f}\">\n",
      markup_escaped(report.url), report.results.size() + (unusable ? 1 : 0),
      count_of(report, Verdict::failed), unusable ? 1 : 0, skipped, report.seconds);
  if (unusable) {
    out += fmt::format(
        "  <testcase classname=\"semel.check\" name=\"calibration\">\n"
        "    <error message=\"{}\"/>\n  </testcase>\n",
        markup_escaped(report.unusable));
  }
  for (const Result& result : report.results) out += test_case(result);
  return out + "</testsuite>\n";
}

}  // namespace semel::check
