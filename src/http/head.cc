#include "http/head.h"

#include <fmt/format.h>

#include <array>
#include <boost/beast/http/status.hpp>
#include <chrono>

namespace semel::http {

std::string_view reason_phrase(int status) {
  const auto phrase = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  return {phrase.data(), phrase.size()};
}

void append_status_line(std::string& head, int status) {
  head.append("HTTP/1.1 ").append(fmt::format_int(status).c_str()).append(" ");
  head.append(reason_phrase(status)).append("\r\n");
}

void append_header(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

std::string format_date(Time at) {
  std::string out;
  append_date(out, at);
  return out;
}

// Written by hand for speed: every replay needs a date of its own.
void append_date(std::string& out, Time at) {
  static constexpr std::string_view kDays = "SunMonTueWedThuFriSat";
  static constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr std::size_t kNameLetters = 3;
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(at - day));
  const auto name = [](std::string_view names, unsigned index) {
    return names.substr(kNameLetters * index, kNameLetters);
  };
  const auto two_digits = [&out](auto number) {
    out.push_back(static_cast<char>('0' + number / 10));
    out.push_back(static_cast<char>('0' + number % 10));
  };
  const int year = int{date.year()};
  out.append(name(kDays, std::chrono::weekday(day).c_encoding())).append(", ");
  two_digits(unsigned{date.day()});
  out.append(" ").append(name(kMonths, unsigned{date.month()} - 1)).append(" ");
  if (year < 0 || year > 9999) {
    out.append(fmt::format_int(year).c_str());
  } else {
    two_digits(year / 100);
    two_digits(year % 100);
  }
  out.push_back(' ');
  two_digits(time.hours().count());
  out.push_back(':');
  two_digits(time.minutes().count());
  out.push_back(':');
  two_digits(time.seconds().count());
  out.append(" GMT");
}

}  // namespace semel::http
