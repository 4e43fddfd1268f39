#include <fmt/format.h>

#include "check/report/report.h"

namespace semel::check {
namespace {

std::string cell_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '[' || c == '<')
      out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string markdown_report(const Report& report) {
  std::string out =
      "| endpoint | safety | draft | profile | unproven | how it behaves "
      "|\n|---|---|---|---|---|---|\n";
  if (!report.unusable.empty()) {
    return out + fmt::format("| {} | – | – | – | – | cannot be checked: {} |\n",
                             cell_text(report.url), cell_text(report.unusable));
  }
  out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", cell_text(report.url),
                     shown(grade_of(report, Level::safety)), shown(grade_of(report, Level::draft)),
                     shown(grade_of(report, Level::profile)), count_of(report, Verdict::unproven),
                     cell_text(behaviour_line(report)));
  for (const Result& result : report.results) {
    if (result.finding.verdict != Verdict::failed) continue;
    if (!out.contains("\n- ")) out += "\n";
    out += fmt::format("- {} {} ({}): {}\n", name_of(result.check.level), result.check.id,
                       shown_section(result.check.section), cell_text(result.finding.why));
  }
  return out;
}

}  // namespace semel::check
