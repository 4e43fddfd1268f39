#include "client/wire/answer_reader.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace semel::client {
namespace {

constexpr std::size_t kHeadBytesMax = 64 * 1024;
constexpr std::size_t kLineBytesMax = 8 * 1024;  // of a chunk's size or a trailer

Failure malformed(const char* what) {
  return {Failure::Kind::broken, std::string("the answer is not valid HTTP: ") + what};
}

bool is_token(std::string_view text) {
  const auto is_token_character = [](char c) {
    return c > ' ' && c <= '~' && !std::string_view("\"(),/:;<=>?@[\\]{}").contains(c);
  };
  return !text.empty() && std::ranges::all_of(text, is_token_character);
}

template <class Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || last != end || text.empty() || text[0] == '-') return std::nullopt;
  return number;
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (base::lower_case(base::trim(list.substr(0, comma))) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace

const std::string* find_header(const Answer& answer, std::string_view name) {
  const std::string wanted = base::lower_case(name);
  for (const Header& header : answer.headers) {
    if (base::lower_case(header.name) == wanted) return &header.value;
  }
  return nullptr;
}

std::optional<Failure> AnswerReader::put(std::string_view bytes) {
  begun_ |= !bytes.empty();
  buffer_.append(bytes);
  for (bool moved = true; moved && !done();) {
    moved = false;
    if (auto failure = step(moved)) return failure;
  }
  return std::nullopt;
}

std::optional<Failure> AnswerReader::end() {
  if (state_ == State::until_end) state_ = State::done;
  if (done()) return std::nullopt;
  return Failure{Failure::Kind::broken,
                 begun_ ? "the answer was cut off" : "the connection was closed without an answer"};
}

std::optional<std::string_view> AnswerReader::next_line() {
  const std::size_t end = buffer_.find("\r\n");
  if (end == std::string::npos) return std::nullopt;
  line_ = buffer_.substr(0, end);
  drop(end + 2);
  return line_;
}

std::optional<Failure> AnswerReader::step(bool& moved) {
  if (state_ == State::head) {
    const std::size_t end = buffer_.find("\r\n\r\n");
    if (std::min(end, buffer_.size()) > kHeadBytesMax) return malformed("its head is too large");
    if (end == std::string::npos) return std::nullopt;
    const std::string head = buffer_.substr(0, end + 2);
    drop(end + 4);
    moved = true;
    return read_head(head);
  }
  if (state_ == State::length || state_ == State::chunk || state_ == State::until_end) {
    const auto here = static_cast<std::size_t>(
        state_ == State::until_end ? buffer_.size()
                                   : std::min<std::uint64_t>(left_, buffer_.size()));
    moved = here > 0;
    if (auto failure = add(here)) return failure;
    if (state_ == State::until_end) return std::nullopt;
    left_ -= here;
    if (left_ == 0) state_ = state_ == State::length ? State::done : State::chunk_end;
    return std::nullopt;
  }
  const auto line = next_line();
  if (!line) {
    return buffer_.size() > kLineBytesMax ? std::optional(malformed("a line is too long"))
                                          : std::nullopt;
  }
  moved = true;
  if (state_ == State::chunk_size) return read_chunk_size(*line);
  if (state_ == State::chunk_end) {
    if (!line->empty()) return malformed("a chunk is longer than it says");
    state_ = State::chunk_size;
  } else if (line->empty()) {  // after the trailer, which is dropped
    state_ = State::done;
  }
  return std::nullopt;
}

std::optional<Failure> AnswerReader::add(std::size_t bytes) {
  if (bytes > body_bytes_max_ - answer_.body.size()) {
    return Failure{Failure::Kind::too_large,
                   "the answer is larger than " + std::to_string(body_bytes_max_) + " bytes"};
  }
  answer_.body.append(buffer_, 0, bytes);
  drop(bytes);
  return std::nullopt;
}

std::optional<Failure> AnswerReader::read_head(std::string_view head) {
  answer_ = {};
  const std::size_t end = head.find("\r\n");
  const std::string_view first = head.substr(0, end);
  if (!first.starts_with("HTTP/1.") || first.size() < 12 || first[8] != ' ') {
    return malformed("no status line");
  }
  const auto status = number_of<int>(first.substr(9, 3));
  if (!status || *status < 100 || (first.size() > 12 && first[12] != ' ')) {
    return malformed("no status");
  }
  answer_.status = *status;
  keeps_ = first[7] != '0';
  head.remove_prefix(end + 2);
  while (!head.empty()) {
    const std::size_t line_end = head.find("\r\n");
    if (auto failure = read_field(head.substr(0, line_end))) return failure;
    head.remove_prefix(line_end + 2);
  }
  if (answer_.status == 101) return malformed("it switches protocols");
  if (answer_.status < 200) return std::nullopt;  // interim
  return begin_body();
}

std::optional<Failure> AnswerReader::read_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return malformed("a field has no name");
  }
  const std::string_view value = base::trim(line.substr(colon + 1));
  for (const char c : value) {
    if ((c >= 0 && c < ' ' && c != '\t') || c == 0x7f) return malformed("a control byte");
  }
  answer_.headers.push_back({std::string(line.substr(0, colon)), std::string(value)});
  return std::nullopt;
}

std::optional<Failure> AnswerReader::begin_body() {
  std::optional<std::uint64_t> length;
  bool chunked = false;
  for (const Header& header : answer_.headers) {
    const std::string name = base::lower_case(header.name);
    if (name == "connection" && has_word(header.value, "close")) keeps_ = false;
    if (name == "transfer-encoding") {
      if (chunked || base::lower_case(header.value) != "chunked") {
        return malformed("an unknown transfer coding");
      }
      chunked = true;
    }
    if (name == "content-length") {
      const auto said = number_of<std::uint64_t>(header.value);
      if (!said || (length && *length != *said)) return malformed("no single Content-Length");
      length = said;
    }
  }
  if (chunked && length) return malformed("two lengths");
  if (to_head_request_ || answer_.status == 204 || answer_.status == 304) {
    state_ = State::done;
  } else if (chunked) {
    state_ = State::chunk_size;
  } else if (length) {
    left_ = *length;
    state_ = left_ == 0 ? State::done : State::length;
  } else {
    keeps_ = false;
    state_ = State::until_end;
  }
  return std::nullopt;
}

std::optional<Failure> AnswerReader::read_chunk_size(std::string_view line) {
  const auto size = number_of<std::uint64_t>(base::trim(line.substr(0, line.find(';'))), 16);
  if (!size) return malformed("a chunk without a size");
  left_ = *size;
  state_ = left_ == 0 ? State::trailer : State::chunk;
  return std::nullopt;
}

}  // namespace semel::client
