#include "http/fields/traceparent.h"

#include <algorithm>
#include <cstddef>

namespace semel::http {
namespace {

constexpr std::size_t kVersionDigits = 2;
constexpr std::size_t kTraceDigits = 32;
constexpr std::size_t kParentDigits = 16;
constexpr std::size_t kFlagsDigits = 2;
constexpr std::size_t kLengthMax = 256;

// Cuts `count` digits off the front. "": they are not there.
std::string_view take_digits(std::string_view& text, std::size_t count) {
  const std::string_view digits = text.substr(0, count);
  const bool are_digits = std::ranges::all_of(
      digits, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (digits.size() != count || !are_digits) return {};
  text.remove_prefix(count);
  return digits;
}

bool take_dash(std::string_view& text) {
  if (!text.starts_with('-')) return false;
  text.remove_prefix(1);
  return true;
}

bool has_other_than_zeros(std::string_view digits) {
  return digits.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

bool is_traceparent(std::string_view text) {
  if (text.size() > kLengthMax) return false;
  const std::string_view version = take_digits(text, kVersionDigits);
  if (version.empty() || version == "ff" || !take_dash(text)) return false;
  if (!has_other_than_zeros(take_digits(text, kTraceDigits)) || !take_dash(text)) return false;
  if (!has_other_than_zeros(take_digits(text, kParentDigits)) || !take_dash(text)) return false;
  if (take_digits(text, kFlagsDigits).empty()) return false;
  return text.empty() || (version != "00" && text.starts_with('-'));
}

}  // namespace semel::http
