#include "cli/line/help_text.h"

#include <algorithm>

namespace semel::cli {
namespace {

struct HelpRow {
  std::string name;
  std::string text;
};

// A heading and rows in two columns. A name that is too wide for its column has its text below it.
std::string section(const TextStyle& style, const std::string& heading,
                    const std::vector<HelpRow>& rows) {
  constexpr std::size_t kNameWidthMax = 26;
  constexpr std::size_t kIndent = 2;
  constexpr std::size_t kGap = 2;
  if (rows.empty()) return "";
  std::size_t width = 0;
  for (const HelpRow& row : rows) {
    if (row.name.size() <= kNameWidthMax) width = std::max(width, row.name.size());
  }
  const std::size_t column = kIndent + width + kGap;
  std::string out = "\n" + style.heading(heading + ":") + "\n";
  for (const HelpRow& row : rows) {
    out += std::string(kIndent, ' ') + style.name(row.name);
    const bool fits = row.name.size() <= width;
    out += fits ? std::string(column - kIndent - row.name.size(), ' ')
                : "\n" + std::string(column, ' ');
    out += wrapped(style, row.text, column, column) + "\n";
  }
  return out;
}

HelpRow row_of(const CommandOutline& command) {
  std::string text = command.help;
  std::ranges::replace(text, '\n', ' ');
  return {command.name, std::move(text)};
}

HelpRow row_of(const OptionOutline& option) {
  std::string text = option.help;
  if (!option.choices.empty()) {
    std::string listed;
    for (const std::string& choice : option.choices) {
      listed += (listed.empty() ? "" : ", ") + choice;
    }
    text += ": " + listed;
  }
  std::string notes;
  const auto note = [&notes](const std::string& what) {
    notes += (notes.empty() ? "" : "; ") + what;
  };
  if (option.required) note("required");
  if (!option.fallback.empty()) note("default " + option.fallback);
  if (option.repeated && !option.names.empty()) note("may be repeated");
  if (!option.place.empty() && !option.names.empty()) note("or just " + option.place);
  if (!notes.empty()) text += " (" + notes + ")";
  return {shown_name(option), std::move(text)};
}

// The commands of the program by purpose, in the order in which purposes first appear.
std::string command_sections(const CommandOutline& command, const TextStyle& style) {
  const auto heading_of = [&](const CommandOutline& below) {
    return command.path == "semel" ? below.group : "Commands";
  };
  std::vector<std::string> headings;
  for (const CommandOutline& below : command.commands) {
    const std::string heading = heading_of(below);
    if (std::ranges::find(headings, heading) == headings.end()) headings.push_back(heading);
  }
  std::string out;
  for (const std::string& heading : headings) {
    std::vector<HelpRow> rows;
    for (const CommandOutline& below : command.commands) {
      if (heading_of(below) == heading) rows.push_back(row_of(below));
    }
    out += section(style, heading, rows);
  }
  return out;
}

std::string option_sections(const CommandOutline& command, const TextStyle& style) {
  std::vector<HelpRow> places;
  std::vector<HelpRow> named;
  for (const OptionOutline& option : command.options) {
    (option.names.empty() ? places : named).push_back(row_of(option));
  }
  // --help is the first that CLI11 adds, and the last that anybody looks for.
  if (named.size() > 1) std::ranges::rotate(named, named.begin() + 1);
  return section(style, "Arguments", places) + section(style, "Options", named);
}

}  // namespace

std::string help_text(const CommandOutline& command, const TextStyle& style) {
  std::string out = wrapped(style, command.help, 0, 0) + "\n\n";
  out += style.heading("Usage:") + " " + usage_of(command) + "\n";
  out += command_sections(command, style);
  out += option_sections(command, style);
  if (!command.footer.empty()) out += "\n" + wrapped(style, command.footer, 0, 0) + "\n";
  if (!command.commands.empty()) {
    const std::string words = command.path.substr(std::string_view("semel").size());
    out += "\n'semel help" + words + " COMMAND' says more about one of them.\n";
  }
  return out;
}

}  // namespace semel::cli
