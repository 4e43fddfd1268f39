#pragma once

#include <cstdint>
#include <span>
#include <string>

// PostgreSQL's text form of an array, for a parameter.
namespace semel::base {

inline std::string array_text(std::span<const std::int64_t> numbers) {
  std::string out = "{";
  for (const std::int64_t number : numbers) {
    if (out.size() > 1) out += ',';
    out += std::to_string(number);
  }
  return out + '}';
}

inline std::string array_text(std::span<const std::string> texts) {
  std::string out = "{";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    out += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + '}';
}

}  // namespace semel::base
