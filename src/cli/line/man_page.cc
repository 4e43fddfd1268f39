#include "cli/line/man_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace semel::cli {
namespace {

// Returns one character of UTF-8 text as roff names it, and moves `at` behind it.
std::string roff_character(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  std::uint32_t point = first;
  if (first >= 0xc0) point = first & (first >= 0xf0 ? 0x07 : first >= 0xe0 ? 0x0f : 0x1f);
  while (at < text.size() && (text[at] & 0xc0) == 0x80) {
    point = (point << 6) | (static_cast<unsigned char>(text[at++]) & 0x3f);
  }
  return fmt::format("\\[u{:04X}]", point);
}

// Escapes what roff would take for its own. Lines of the text stay lines of the page.
std::string roff(std::string_view text) {
  std::string out;
  bool at_line_begin = true;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (at_line_begin && (c == '.' || c == '\'')) out += "\\&";
    at_line_begin = c == '\n';
    if (static_cast<unsigned char>(c) >= 0x80) {
      out += roff_character(text, at);
      continue;
    }
    ++at;
    if (c == '\n') {
      out += "\n.br\n";
    } else if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string flat(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string entry(const std::string& name, const std::string& text) {
  return ".TP\n\\fB" + roff(name) + "\\fR\n" + roff(flat(text)) + "\n";
}

std::string entry(const OptionOutline& option) {
  std::string text = option.help + ".";
  if (!option.choices.empty()) {
    text += " One of:";
    for (const std::string& choice : option.choices) text += " " + choice;
    text += ".";
  }
  if (option.required) text += " Required.";
  if (!option.fallback.empty()) text += " Default: " + option.fallback + ".";
  if (option.repeated) text += " May be repeated.";
  if (!option.place.empty() && !option.names.empty()) {
    text += " " + option.place + " may stand without " + option.names.back() + ".";
  }
  return entry(shown_name(option), text);
}

std::string options_of_page(const CommandOutline& command) {
  std::string places;
  std::string named;
  for (const OptionOutline& option : command.options) {
    (option.names.empty() ? places : named) += entry(option);
  }
  return (places.empty() ? "" : ".SH ARGUMENTS\n" + places) + ".SH OPTIONS\n" + named;
}

std::string see_also(const CommandOutline& command) {
  std::string pages;
  for (const CommandOutline& below : command.commands) {
    pages += fmt::format(".BR {} (1),\n", roff(man_page_name(below)));
  }
  const std::size_t last_word = command.path.rfind(' ');
  if (last_word != std::string::npos) {
    std::string above = command.path.substr(0, last_word);
    std::ranges::replace(above, ' ', '-');
    pages += fmt::format(".BR {} (1)\n", roff(above));
  } else {
    pages.erase(pages.size() - 2, 1);  // the last comma
  }
  return ".SH SEE ALSO\n" + pages;
}

}  // namespace

std::string man_page_name(const CommandOutline& command) {
  std::string name = command.path;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string man_page(const CommandOutline& command) {
  const std::string name = man_page_name(command);
  const std::string usage = usage_of(command).substr(command.path.size());
  std::string title = name;
  std::ranges::transform(title, title.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  std::string page =
      fmt::format(".TH \"{}\" 1 \"\" \"semel {}\" \"Semel\"\n", title, SEMEL_VERSION);
  page += ".nh\n";  // no hyphens in names of commands
  page += ".SH NAME\n" + roff(name) + " \\- " + roff(flat(command.help)) + "\n";
  page += ".SH SYNOPSIS\n\\fB" + roff(command.path) + "\\fR" + roff(usage) + "\n";
  if (!command.footer.empty()) page += ".SH DESCRIPTION\n" + roff(command.footer) + "\n";
  if (!command.commands.empty()) {
    page += ".SH COMMANDS\n";
    for (const CommandOutline& below : command.commands) page += entry(below.name, below.help);
  }
  return page + options_of_page(command) + see_also(command);
}

}  // namespace semel::cli
