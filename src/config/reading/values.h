#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "config/address.h"
#include "config/environment.h"
#include "semel/time.h"

// Parses the values of the configuration file. Pure functions.
namespace semel::config::reading {

// The value, or what is wrong: the end of a sentence that begins with the text in quotes, as in
// "'5 s' is not a duration; …".
template <class T>
using Parsed = std::expected<T, std::string>;

// Longer than anybody means, and far from where milliseconds overflow.
inline constexpr Duration kDurationMax = std::chrono::days(3650);
// The longest that max_length of a key can be set to, in bytes.
inline constexpr std::size_t kKeyLengthMax = 1024;

Parsed<std::uint64_t> parse_number(std::string_view text);
// 500ms 5s 10m 24h 7d, or a bare 0. At most kDurationMax.
Parsed<Duration> parse_duration(std::string_view text);
// 64KiB 1MiB 1GiB, or a plain number of bytes.
Parsed<std::uint64_t> parse_size(std::string_view text);
// An address to listen on: 127.0.0.1:8080 or [::1]:8080. Port 0 picks a free one.
Parsed<HostPort> parse_listen(std::string_view text);
// http[s]://host[:port][/base]
Parsed<Upstream> parse_upstream(std::string_view text);
// http[s]://host[:port][/path][?query], for requests that Semel makes itself. Braces are left as
// they are: a caller may fill in {placeholders}.
Parsed<Url> parse_url(std::string_view text);
// 10.0.0.0/8, 10.1.2.3, 2001:db8::/32, ::1
Parsed<AddressRange> parse_address_range(std::string_view text);

// Replaces ${NAME}, ${NAME:-default} and $$. As in a shell, the default also stands in for a
// variable that is set but empty. The result is never expanded again.
Parsed<std::string> expand_environment(std::string_view text, const Environment& environment);

// Longest name, and longest other text of one line, in characters.
inline constexpr std::size_t kNameLengthMax = 128;
inline constexpr std::size_t kTextLengthMax = 1024;

// "45d", "1500ms", "1MiB": the shortest form that the parsers above read back.
std::string format_duration(Duration duration);
std::string format_size(std::uint64_t bytes);

// Returns whether it is a host name or an IP address without brackets.
bool is_host(std::string_view text);
bool is_loopback(const std::string& host);
bool is_everyone(const AddressRange& range);
bool is_printable(std::string_view text);
// Returns whether it is a token of RFC 9110, as header names and methods are.
bool is_token(std::string_view text);
// Letters, digits and '_', not beginning with a digit.
bool is_name(std::string_view text);

// Returns the text safe to print on a terminal: '?' for everything but printable ASCII, and cut off
// at the end.
std::string shown(std::string_view text);
// Returns shown(text) in quotes.
std::string quote(std::string_view text);

}  // namespace semel::config::reading
