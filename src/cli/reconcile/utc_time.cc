#include "cli/reconcile/utc_time.h"

#include <chrono>

#include "execution/answer/answer_json.h"

namespace semel::cli {
namespace {

using namespace std::chrono;

// Takes one part of a time after the other from its text.
class TimeText {
 public:
  explicit TimeText(std::string_view rest) : rest_(rest) {}

  bool is_read() const { return is_right_ && rest_.empty(); }

  // Takes a number of exactly so many digits.
  int number(std::size_t digits) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char c = next();
      if (c < '0' || c > '9') is_right_ = false;
      value = value * 10 + (c - '0');
    }
    return is_right_ ? value : 0;
  }

  // Takes one of these characters, and returns it.
  char one_of(std::string_view allowed) {
    const char c = next();
    if (!allowed.contains(c)) is_right_ = false;
    return c;
  }

  // Takes a fraction of a second, if there is one. Digits beyond milliseconds are dropped.
  milliseconds fraction() {
    if (!rest_.starts_with('.')) return milliseconds(0);
    rest_.remove_prefix(1);
    int value = 0;
    int weight = 100;
    if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') is_right_ = false;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      value += weight * (next() - '0');
      weight /= 10;
    }
    return milliseconds(value);
  }

 private:
  char next() {
    if (rest_.empty()) {
      is_right_ = false;
      return '\0';
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  std::string_view rest_;
  bool is_right_ = true;
};

}  // namespace

std::optional<std::string> utc_time(std::string_view text) {
  TimeText in(text);
  const year y(in.number(4));
  in.one_of("-");
  const month m(static_cast<unsigned>(in.number(2)));
  in.one_of("-");
  const day d(static_cast<unsigned>(in.number(2)));
  in.one_of("Tt ");
  const hours hour(in.number(2));
  in.one_of(":");
  const minutes minute(in.number(2));
  in.one_of(":");
  const seconds second(in.number(2));
  const milliseconds fraction = in.fraction();
  const char zone = in.one_of("Zz+-");
  minutes ahead(0);
  if (zone == '+' || zone == '-') {
    ahead = hours(in.number(2));
    in.one_of(":");
    ahead += minutes(in.number(2));
    if (zone == '-') ahead = -ahead;
  }
  const year_month_day date(y, m, d);
  constexpr seconds kLeapSecond(60);
  const bool is_in_range =
      date.ok() && hour < hours(24) && minute < minutes(60) && second <= kLeapSecond;
  if (!in.is_read() || !is_in_range) return std::nullopt;
  return execution::timestamp(Time(sys_days(date) + hour + minute + second + fraction - ahead));
}

}  // namespace semel::cli
