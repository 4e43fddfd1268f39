#include "check/report/report.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace semel::check {

std::string shown(const Grade& grade) {
  return fmt::format("{} of {}", grade.passed, grade.graded);
}

std::string shown_section(std::string_view section) {
  const bool of_draft = !section.empty() && section.front() >= '0' && section.front() <= '9';
  return (of_draft ? "§" : "") + std::string(section);
}

std::string behaviour_line(const Report& report) {
  std::string line;
  for (const auto& [topic, how] : report.behaviour) {
    line += fmt::format("{}{} {}", line.empty() ? "" : " · ", topic, how);
  }
  return line;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : base::printable_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string markup_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace semel::check
