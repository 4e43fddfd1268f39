#include "check/wire/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace semel::check {
namespace {

constexpr std::size_t kHeadBytesMax = 64 * 1024;
constexpr std::size_t kBodyBytesMax = 64 * 1024 * 1024;

bool same_name(std::string_view a, std::string_view b) {
  return base::lower_case(a) == base::lower_case(b);
}

std::optional<std::size_t> parse_size(std::string_view text, int base) {
  std::size_t size = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, size, base);
  if (parsed.ec != std::errc() || parsed.ptr != end || size > kBodyBytesMax) return std::nullopt;
  return size;
}

// Parses the status line and the fields. False: it is no HTTP/1 answer.
bool parse_head(std::string_view head, Answer& answer) {
  const std::size_t line_end = head.find("\r\n");
  const std::string_view line = head.substr(0, line_end);
  if (!line.starts_with("HTTP/1.") || line.size() < 12) return false;
  const auto parsed = std::from_chars(line.data() + 9, line.data() + 12, answer.status);
  if (parsed.ptr != line.data() + 12 || answer.status < 100) return false;
  answer.keeps_open = line.starts_with("HTTP/1.1");
  head.remove_prefix(std::min(head.size(), line_end + 2));
  while (!head.empty() && !head.starts_with("\r\n")) {
    const std::size_t end = head.find("\r\n");
    const std::string_view field = head.substr(0, end);
    const std::size_t colon = field.find(':');
    if (colon == std::string_view::npos) return false;
    answer.fields.push_back(
        {std::string(field.substr(0, colon)), std::string(base::trim(field.substr(colon + 1)))});
    head.remove_prefix(end + 2);
  }
  return true;
}

}  // namespace

void Request::set(std::string_view name, std::string value) {
  std::erase_if(fields, [&](const Field& field) { return same_name(field.name, name); });
  fields.push_back({std::string(name), std::move(value)});
}

std::string request_bytes(const Request& request, const Target& target) {
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, request.path,
                                target.authority());
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(request.fields,
                               [&](const Field& field) { return same_name(field.name, name); });
  };
  if (!has("User-Agent")) out += "User-Agent: semel-check/" SEMEL_VERSION "\r\n";
  for (const auto& [name, value] : request.fields) out += fmt::format("{}: {}\r\n", name, value);
  if (request.method != "GET") out += fmt::format("Content-Length: {}\r\n", request.body.size());
  return out + "\r\n" + request.body;
}

std::string_view Answer::get(std::string_view name) const {
  const auto found =
      std::ranges::find_if(fields, [&](const Field& field) { return same_name(field.name, name); });
  return found == fields.end() ? std::string_view() : std::string_view(found->value);
}

bool Answer::has(std::string_view name) const {
  return std::ranges::any_of(fields,
                             [&](const Field& field) { return same_name(field.name, name); });
}

std::string Answer::shown() const {
  return status != 0 ? std::to_string(status) : "no answer (" + trouble + ")";
}

std::string AnswerReader::fill(Socket& socket, Deadline deadline) {
  std::array<char, 16 * 1024> bytes;
  const auto got = socket.receive(bytes.data(), bytes.size(), deadline);
  if (!got) return got.error();
  if (*got == 0) ended_ = true;
  buffer_.append(bytes.data(), *got);
  return {};
}

std::string AnswerReader::read_head(Socket& socket, Answer& answer, Deadline deadline) {
  for (;;) {
    const std::size_t end = buffer_.find("\r\n\r\n");
    if (end != std::string::npos) {
      answer = Answer();
      answer.head_bytes = end + 4;
      if (!parse_head(std::string_view(buffer_).substr(0, end + 4), answer)) {
        return "what came is no HTTP/1 answer";
      }
      buffer_.erase(0, end + 4);
      if (answer.status >= 200) return {};
      continue;
    }
    if (ended_) return buffer_.empty() ? "the connection was closed" : "the answer was cut short";
    if (buffer_.size() > kHeadBytesMax) return "the head of the answer is too long";
    if (auto trouble = fill(socket, deadline); !trouble.empty()) return trouble;
  }
}

std::string AnswerReader::read_sized(Socket& socket, std::size_t size, std::string& into,
                                     Deadline deadline) {
  while (buffer_.size() < size) {
    if (ended_) return "the answer was cut short";
    if (auto trouble = fill(socket, deadline); !trouble.empty()) return trouble;
  }
  into.append(buffer_, 0, size);
  buffer_.erase(0, size);
  return {};
}

std::string AnswerReader::read_line(Socket& socket, std::string& line, Deadline deadline) {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (ended_ || buffer_.size() > kHeadBytesMax) return "a chunk was cut short";
    if (auto trouble = fill(socket, deadline); !trouble.empty()) return trouble;
  }
  line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return {};
}

std::string AnswerReader::read_chunks(Socket& socket, Answer& answer, Deadline deadline) {
  for (std::string line;;) {
    if (auto trouble = read_line(socket, line, deadline); !trouble.empty()) return trouble;
    const auto size = parse_size(base::trim(line.substr(0, line.find(';'))), 16);
    if (!size || answer.body.size() + *size > kBodyBytesMax) return "a chunk has a bad size";
    if (*size == 0) break;
    if (auto trouble = read_sized(socket, *size, answer.body, deadline); !trouble.empty()) {
      return trouble;
    }
    if (auto trouble = read_line(socket, line, deadline); !trouble.empty()) return trouble;
  }
  for (std::string trailer = "-"; !trailer.empty();) {
    if (auto trouble = read_line(socket, trailer, deadline); !trouble.empty()) return trouble;
  }
  return {};
}

std::string AnswerReader::read_body(Socket& socket, Answer& answer, Deadline deadline) {
  if (base::lower_case(answer.get("Transfer-Encoding")).contains("chunked")) {
    return read_chunks(socket, answer, deadline);
  }
  if (answer.has("Content-Length")) {
    const auto size = parse_size(answer.get("Content-Length"), 10);
    if (!size) return "the answer has a bad Content-Length";
    return read_sized(socket, *size, answer.body, deadline);
  }
  answer.keeps_open = false;
  while (!ended_) {
    if (buffer_.size() > kBodyBytesMax) return "the answer is too long";
    if (auto trouble = fill(socket, deadline); !trouble.empty()) return trouble;
  }
  answer.body = std::move(buffer_);
  buffer_.clear();
  return {};
}

Answer AnswerReader::read(Socket& socket, std::string_view method, Deadline deadline) {
  Answer answer;
  std::string trouble = read_head(socket, answer, deadline);
  const bool bodiless = method == "HEAD" || answer.status == 204 || answer.status == 304;
  if (trouble.empty() && !bodiless) trouble = read_body(socket, answer, deadline);
  if (!trouble.empty()) {
    answer = Answer();
    answer.trouble = std::move(trouble);
  }
  if (base::lower_case(answer.get("Connection")).contains("close")) answer.keeps_open = false;
  return answer;
}

bool AnswerReader::skip(Socket& socket, std::size_t bytes, Deadline deadline) {
  std::array<char, 4096> into;
  while (bytes > 0) {
    const auto got = socket.receive(into.data(), std::min(bytes, into.size()), deadline);
    if (!got || *got == 0) return false;
    bytes -= *got;
  }
  return true;
}

}  // namespace semel::check
