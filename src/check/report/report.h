#pragma once

#include <string>
#include <string_view>

#include "check/run.h"

// The forms of a report. Text that the endpoint sent is escaped for each of them.
namespace semel::check {

struct TextStyle {
  bool colour = false;
  bool all = false;  // also what passed, with its exchanges
};

std::string text_report(const Report& report, const TextStyle& style);
// docs/check.schema.json describes it.
std::string json_report(const Report& report, const Options& options);
std::string junit_report(const Report& report);
// One file that needs nothing from elsewhere.
std::string html_report(const Report& report, const Options& options);
// A table row, for comparing several endpoints, and the findings below it.
std::string markdown_report(const Report& report);

// Lists what would be sent, and which options unlock more.
std::string plan_text(const Options& options);

// "26 of 27".
std::string shown(const Grade& grade);
// "§2.6", or the name of another document.
std::string shown_section(std::string_view section);
// How the endpoint behaves, in one line.
std::string behaviour_line(const Report& report);
// Replaces control bytes, and what is no UTF-8, so that it cannot steer a terminal or break XML.
std::string printable(std::string_view text);
// For text and attributes of HTML and XML.
std::string markup_escaped(std::string_view text);

}  // namespace semel::check
