#include "cli/line/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace semel::cli {
namespace {

constexpr std::size_t kNarrowest = 60;

bool shows_colours(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour && *no_colour) return false;
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) && terminal && *terminal && std::string_view(terminal) != "dumb";
}

std::string painted(const TextStyle& style, const char* code, std::string_view text) {
  if (!style.colour) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

// UTF-8: all bytes but those that continue a character.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string TextStyle::heading(std::string_view text) const {
  return painted(*this, "1", text);
}
std::string TextStyle::name(std::string_view text) const {
  return painted(*this, "36", text);
}
std::string TextStyle::fault(std::string_view text) const {
  return painted(*this, "1;31", text);
}

TextStyle style_of(std::FILE* file) {
  TextStyle style;
  const int descriptor = fileno(file);
  style.colour = shows_colours(descriptor);
  winsize size{};
  if (isatty(descriptor) && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = std::clamp<std::size_t>(size.ws_col, kNarrowest, style.width);
  }
  return style;
}

std::string first_columns(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    const bool begins_character = (text[end] & 0xc0) != 0x80;
    if (begins_character && seen++ == columns) break;
  }
  return std::string(text.substr(0, end));
}

std::string wrapped(const TextStyle& style, std::string_view text, std::size_t indent,
                    std::size_t column) {
  std::string out;
  const std::string line_break = "\n" + std::string(indent, ' ');
  bool at_begin = true;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!at_begin && column + 1 + columns_of(word) > style.width) {
      out += line_break;
      column = indent;
      at_begin = true;
    }
    if (!at_begin) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns_of(word);
    at_begin = false;
    if (end < text.size() && text[end] == '\n') {
      out += line_break;
      column = indent;
      at_begin = true;
    }
    at = end + 1;
  }
  return out;
}

}  // namespace semel::cli
