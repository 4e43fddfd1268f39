#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace semel::cli {

// How text is shown: plain, unless it goes to a terminal that shows colours and NO_COLOR
// (https://no-color.org) is not set.
struct TextStyle {
  bool colour = false;
  std::size_t width = 100;  // in columns

  std::string heading(std::string_view text) const;
  std::string name(std::string_view text) const;
  std::string fault(std::string_view text) const;
};

TextStyle style_of(std::FILE* file);

// Returns the beginning of the text that is `columns` wide at most.
std::string first_columns(std::string_view text, std::size_t columns);

// Breaks lines at spaces so that none is wider than `style.width`, unless a word is. All lines but
// the first begin with `indent` spaces; `column` is where the first one begins.
std::string wrapped(const TextStyle& style, std::string_view text, std::size_t indent,
                    std::size_t column);

}  // namespace semel::cli
