#include <fmt/format.h>

#include "check/report/report.h"

namespace semel::check {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #8884; }
code, pre { font: 13px/1.4 ui-monospace, monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; }
.failed { color: #c62828; font-weight: 600; } .passed { color: #2e7d32; }
.unproven { color: #b26a00; } .quiet { opacity: .65; }
.grades td { font-size: 1.3rem; border: 0; }
)";

std::string exchanges_html(const Result& result) {
  if (result.exchanges.empty()) return {};
  std::string out = fmt::format("<details><summary class=\"quiet\">{} exchanges</summary><pre>",
                                result.exchanges.size());
  for (const Shown& one : result.exchanges) {
    out +=
        fmt::format("{}  key {}\n  {}  {}\n", markup_escaped(one.request), markup_escaped(one.key),
                    markup_escaped(one.answer), markup_escaped(one.body));
  }
  return out + "</pre></details>";
}

std::string row_html(const Result& result) {
  const std::string_view verdict = name_of(result.finding.verdict);
  const std::string css = verdict == "n/a" || verdict == "said" ? "quiet" : std::string(verdict);
  return fmt::format(
      "<tr><td class=\"{}\">{}</td><td>{}</td><td><code>{}</code></td><td>{}</td>"
      "<td>{}<br><span class=\"quiet\">{}</span>{}</td></tr>\n",
      css, verdict, name_of(result.check.level), result.check.id,
      markup_escaped(shown_section(result.check.section)), markup_escaped(result.check.what),
      markup_escaped(result.finding.why), exchanges_html(result));
}

}  // namespace

std::string html_report(const Report& report, const Options& options) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>semel check {0}</title><style>{1}</style></head><body>\n"
      "<h1>{2} <code>{0}</code></h1>\n"
      "<p>{3} requests, {4} effects, {5:.0f} s, semel-check/" SEMEL_VERSION ", exit code {6}</p>\n",
      markup_escaped(report.url), kStyle, markup_escaped(report.method), report.requests,
      report.effects, report.seconds, exit_code(report, options));
  if (!report.unusable.empty()) {
    return out + fmt::format("<p class=\"failed\">Cannot be checked: {}</p></body></html>\n",
                             markup_escaped(report.unusable));
  }
  out += fmt::format(
      "<table class=\"grades\"><tr><td>safety {}</td><td>draft {}</td><td>profile {}</td>"
      "<td>{} not applicable</td><td>{} unproven</td></tr></table>\n",
      shown(grade_of(report, Level::safety)), shown(grade_of(report, Level::draft)),
      shown(grade_of(report, Level::profile)), count_of(report, Verdict::not_applicable),
      count_of(report, Verdict::unproven));
  if (!report.stopped.empty())
    out += "<p>Ended early: " + markup_escaped(report.stopped) + "</p>\n";
  out += "<p>" + markup_escaped(behaviour_line(report)) + "</p>\n<table>\n";
  for (const Verdict verdict : {Verdict::failed, Verdict::unproven, Verdict::passed, Verdict::said,
                                Verdict::not_applicable}) {
    for (const Result& result : report.results) {
      if (result.finding.verdict == verdict) out += row_html(result);
    }
  }
  return out + "</table>\n</body></html>\n";
}

}  // namespace semel::check
