#include "core/json_text.h"

#include <array>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>

namespace semel::core {
namespace json = boost::json;
namespace {

// The longest texts are those of tiny negative numbers: "-0." and up to 340 digits.
constexpr std::size_t kNumberLengthMax = 400;

void append_number(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  std::array<char, kNumberLengthMax> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  out.append(text.data(), end.ptr);
}

void append_value(std::string& out, const json::value& value) {
  const char* separator = "";
  if (const auto* object = value.if_object()) {
    out += '{';
    for (const auto& member : *object) {
      out += separator;
      out += json::serialize(member.key());
      out += ':';
      append_value(out, member.value());
      separator = ",";
    }
    out += '}';
  } else if (const auto* array = value.if_array()) {
    out += '[';
    for (const json::value& item : *array) {
      out += separator;
      append_value(out, item);
      separator = ",";
    }
    out += ']';
  } else if (const auto* number = value.if_double()) {
    append_number(out, *number);
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

std::string json_text(const json::value& value) {
  std::string out;
  append_value(out, value);
  return out;
}

}  // namespace semel::core
