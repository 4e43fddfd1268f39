#include "core/fingerprint/decimal.h"

#include <cstdint>
#include <optional>

#include "base/varint.h"

namespace semel::core {
namespace {

constexpr std::size_t kExponentDigitsMax = 18;  // below 2^63 with any body that fits in memory

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct NumberText {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  bool exponent_negative = false;
  std::string_view exponent;
};

class NumberScanner {
 public:
  explicit NumberScanner(std::string_view text) : rest_(text) {}

  // Splits the number by the grammar of RFC 8259, section 6.
  std::optional<NumberText> scan() {
    NumberText number;
    number.negative = skip('-');
    number.whole = digits();
    if (number.whole.empty() || (number.whole.size() > 1 && number.whole[0] == '0')) return {};
    if (skip('.')) {
      number.fraction = digits();
      if (number.fraction.empty()) return {};
    }
    if (skip('e') || skip('E')) {
      number.exponent_negative = skip('-');
      if (!number.exponent_negative) skip('+');
      number.exponent = digits();
      if (number.exponent.empty()) return {};
    }
    if (!rest_.empty()) return {};
    return number;
  }

 private:
  bool skip(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view digits() {
    std::size_t length = 0;
    while (length < rest_.size() && is_digit(rest_[length])) ++length;
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }

  std::string_view rest_;
};

std::optional<std::int64_t> exponent_of(const NumberText& number) {
  std::string_view digits = number.exponent;
  while (!digits.empty() && digits[0] == '0') digits.remove_prefix(1);
  if (digits.size() > kExponentDigitsMax) return {};
  std::int64_t exponent = 0;
  for (char digit : digits) exponent = exponent * 10 + (digit - '0');
  return number.exponent_negative ? -exponent : exponent;
}

void strip_leading_zeros(std::string_view& digits) {
  const std::size_t first = digits.find_first_not_of('0');
  digits.remove_prefix(first == std::string_view::npos ? digits.size() : first);
}

void strip_trailing_zeros(std::string_view& digits) {
  const std::size_t last = digits.find_last_not_of('0');
  digits.remove_suffix(digits.size() - (last == std::string_view::npos ? 0 : last + 1));
}

}  // namespace

bool append_canonical_number(std::string_view text, std::string& out) {
  std::optional<NumberText> number = NumberScanner(text).scan();
  if (!number) return false;
  std::string_view& whole = number->whole;
  std::string_view& fraction = number->fraction;

  // The value is the digits of whole and fraction, as one integer, times ten to `exponent`.
  strip_trailing_zeros(fraction);
  const auto fraction_digits = static_cast<std::int64_t>(fraction.size());
  strip_leading_zeros(whole);
  if (whole.empty()) strip_leading_zeros(fraction);
  if (whole.empty() && fraction.empty()) {
    out.push_back('0');
    return true;
  }
  const std::optional<std::int64_t> written = exponent_of(*number);
  if (!written) return false;
  std::int64_t exponent = *written - fraction_digits;
  if (fraction.empty()) {
    const auto before = static_cast<std::int64_t>(whole.size());
    strip_trailing_zeros(whole);
    exponent += before - static_cast<std::int64_t>(whole.size());
  }

  out.push_back(number->negative ? '-' : '+');
  base::append_varint(whole.size() + fraction.size(), out);
  out.append(whole).append(fraction);
  const auto shifted = static_cast<std::uint64_t>(exponent) << 1;
  base::append_varint(exponent < 0 ? ~shifted : shifted, out);
  return true;
}

}  // namespace semel::core
