#include "base/text.h"

namespace semel::base {
namespace {

std::string_view without(std::string_view text, std::string_view around) {
  const std::size_t first = text.find_first_not_of(around);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(around) - first + 1);
}

}  // namespace

std::string_view trim(std::string_view text) {
  return without(text, " \t");
}

std::string_view trim_line(std::string_view line) {
  return without(line, " \t\r");
}

std::string_view without_line_end(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace semel::base
