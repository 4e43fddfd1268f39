// If a text with a key counts as one without, every retry of the request is executed. If two
// readers can find two keys in one text, so can Semel and the executor. A doubtful text is
// therefore unreadable, which is not the same as absent.
#include "core/fingerprint/json_find.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/hex.h"

namespace semel::core {
namespace {

constexpr std::string_view kNotJson = "it is not valid JSON.";
constexpr std::string_view kNotUtf8 = "it is not UTF-8, which JSON requires.";
constexpr std::string_view kTwice = "a member on the path appears more than once.";

bool is_decimal_digit(char c) {
  return c >= '0' && c <= '9';
}

std::uint32_t hex_digits(std::string_view digits) {
  std::uint32_t value = 0;
  for (const char digit : digits)
    value = value * 16 + static_cast<std::uint32_t>(base::hex_value(digit));
  return value;
}

void append_utf8(std::uint32_t code, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// Takes "\uXXXX", or a surrogate pair of them, off the front of `rest` and returns its code point.
std::uint32_t take_code(std::string_view& rest) {
  constexpr std::size_t kEscapeBytes = 6;
  const std::uint32_t code = hex_digits(rest.substr(2, 4));
  rest.remove_prefix(kEscapeBytes);
  if (code < 0xD800 || code > 0xDBFF || !rest.starts_with("\\u")) return code;
  const std::uint32_t low = hex_digits(rest.substr(2, 4));
  if (low < 0xDC00 || low > 0xDFFF) return code;
  rest.remove_prefix(kEscapeBytes);
  return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

// Returns the length of the escape at the front of `rest`; 0: it is malformed.
std::size_t escape_length(std::string_view rest) {
  if (rest.size() < 2) return 0;
  if (rest[1] != 'u') return std::string_view("\"\\/bfnrt").contains(rest[1]) ? 2 : 0;
  const std::string_view digits = rest.substr(2, 4);
  const bool is_good = digits.size() == 4 && std::ranges::all_of(digits, [](char digit) {
                         return base::hex_value(digit) >= 0;
                       });
  return is_good ? 6 : 0;
}

// `escaped` is the text between the quotes; its escapes are known to be well-formed.
std::string unescape_string(std::string_view escaped) {
  std::string out;
  out.reserve(escaped.size());
  while (!escaped.empty()) {
    const std::size_t plain = std::min(escaped.find('\\'), escaped.size());
    out.append(escaped.substr(0, plain));
    escaped.remove_prefix(plain);
    if (escaped.empty()) break;
    if (escaped[1] == 'u') {
      append_utf8(take_code(escaped), out);
      continue;
    }
    constexpr std::string_view kNames = "bfnrt";
    constexpr std::string_view kMeanings = "\b\f\n\r\t";
    const std::size_t named = kNames.find(escaped[1]);
    out.push_back(named == std::string_view::npos ? escaped[1] : kMeanings[named]);
    escaped.remove_prefix(2);
  }
  return out;
}

class Finder {
 public:
  Finder(std::string_view text, const std::vector<PointerSegment>& segments)
      : text_(text), segments_(segments) {}

  JsonFound run() {
    if (!simdjson::validate_utf8(text_.data(), text_.size())) {
      return json_found::Unreadable{kNotUtf8};
    }
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    if (!read_text()) return json_found::Unreadable{kNotJson};
    if (ambiguous_) return json_found::Unreadable{kTwice};
    return std::move(found_);
  }

  // Returns the text of the value that run() has found.
  std::string_view found_text() const { return text_.substr(found_at_, found_end_ - found_at_); }

 private:
  // An open object or array that the pointer leads through.
  struct Step {
    bool named = false;     // of an object: the name of the next step was found
    std::size_t index = 0;  // of an array: index of the next element
  };

  // Each of these functions returns false if the text breaks the grammar there.
  bool read_text() {
    while (begin_value()) {
      bool value_follows = false;
      while (!value_follows) {
        skip_blanks();
        if (open_.empty()) return at_ == text_.size();
        if (take(',')) {
          if (!begin_child()) return false;
          value_follows = true;
        } else if (take(open_.back() ? '}' : ']')) {
          close();
        } else {
          return false;
        }
      }
    }
    return false;
  }

  // Reads a scalar or an empty object or array to its end. Descends into any other object or array
  // to its first child, until it has read one of those.
  bool begin_value() {
    for (;;) {
      skip_blanks();
      const bool is_object = peek() == '{';
      if (!is_object && peek() != '[') return read_scalar();
      ++at_;
      open(is_object);
      skip_blanks();
      if (take(is_object ? '}' : ']')) {
        close();
        return true;
      }
      if (!begin_child()) return false;
    }
  }

  // Goes to the value of the next member or element of the innermost open object or array.
  bool begin_child() {
    const bool on_path = path_.size() == open_.size();
    on_path_ = false;
    if (!open_.back()) {
      if (on_path) on_path_ = segments_[path_.size() - 1].index == path_.back().index++;
      return true;
    }
    skip_blanks();
    const auto name = read_string();
    if (!name) return false;
    if (on_path && is_name(*name, segments_[path_.size() - 1].name)) {
      ambiguous_ |= path_.back().named;
      path_.back().named = on_path_ = true;
    }
    skip_blanks();
    return take(':');
  }

  static bool is_name(std::string_view escaped, std::string_view name) {
    return escaped.contains('\\') ? unescape_string(escaped) == name : escaped == name;
  }

  bool is_target() const { return on_path_ && path_.size() == segments_.size(); }

  void open(bool is_object) {
    if (is_target()) {
      found_ = json_found::Other{};
      found_at_ = at_ - 1;
      found_depth_ = open_.size();
    } else if (on_path_) {
      path_.emplace_back();
    }
    on_path_ = false;
    open_.push_back(is_object);
  }

  void close() {
    if (path_.size() == open_.size()) path_.pop_back();
    open_.pop_back();
    if (found_depth_ == open_.size()) {
      found_end_ = at_;
      found_depth_.reset();
    }
  }

  bool read_scalar() {
    const bool is_wanted = is_target();
    const std::size_t begin = at_;
    const bool is_read = read_scalar_as(is_wanted, begin);
    if (is_wanted) {
      found_at_ = begin;
      found_end_ = at_;
    }
    return is_read;
  }

  bool read_scalar_as(bool is_wanted, std::size_t begin) {
    if (peek() == '"') {
      const auto text = read_string();
      if (text && is_wanted) found_ = json_found::Text{unescape_string(*text)};
      return text.has_value();
    }
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      if (is_wanted) found_ = json_found::Other{};
      return true;
    }
    if (!read_number()) return false;
    if (is_wanted) found_ = json_found::Number{text_.substr(begin, at_ - begin)};
    return true;
  }

  bool read_number() {
    take('-');
    if (!take('0') && !read_digits()) return false;
    if (take('.') && !read_digits()) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return read_digits();
  }

  bool read_digits() {
    const std::size_t begin = at_;
    while (is_decimal_digit(peek())) ++at_;
    return at_ > begin;
  }

  // Returns the text between the quotes; nullopt: malformed.
  std::optional<std::string_view> read_string() {
    if (!take('"')) return {};
    const std::size_t begin = at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') return text_.substr(begin, at_++ - begin);
      if (static_cast<unsigned char>(c) < ' ') return {};
      if (c == '\\' && !pass_escape()) return {};
    }
    return {};
  }

  // Moves from the backslash to the last character of the escape.
  bool pass_escape() {
    const std::size_t length = escape_length(text_.substr(at_));
    at_ += length - 1;
    return length > 0;
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").contains(text_[at_])) ++at_;
  }
  // Returns NUL at the end of the text; a NUL byte in the text is not valid JSON either.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  const std::string_view text_;
  const std::vector<PointerSegment>& segments_;
  std::size_t at_ = 0;
  std::vector<bool> open_;  // open objects (true) and arrays (false), outermost first
  std::vector<Step> path_;  // of open_, the outermost ones that the pointer leads through
  bool on_path_ = true;  // the value that begins here is the target of the pointer, or leads to it
  bool ambiguous_ = false;
  JsonFound found_;
  std::size_t found_at_ = 0;
  std::size_t found_end_ = 0;
  std::optional<std::size_t> found_depth_;  // set while the found object or array is open
};

}  // namespace

std::optional<std::string> unescape_json(std::string_view escaped) {
  for (std::size_t at = escaped.find('\\'); at != escaped.npos; at = escaped.find('\\', at)) {
    const std::size_t length = escape_length(escaped.substr(at));
    if (length == 0) return {};
    at += length;
  }
  return unescape_string(escaped);
}

JsonFound find_in_json(std::string_view text, const JsonPointer& pointer) {
  return Finder(text, pointer.segments).run();
}

std::optional<std::string_view> find_json_text(std::string_view text, const JsonPointer& pointer) {
  Finder finder(text, pointer.segments);
  const JsonFound found = finder.run();
  if (std::holds_alternative<json_found::Absent>(found) ||
      std::holds_alternative<json_found::Unreadable>(found)) {
    return std::nullopt;
  }
  return finder.found_text();
}

}  // namespace semel::core
