#include "http/head_scan.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace semel::http {
namespace {

// Bytes that need no further check: everything but control characters and DEL.
constexpr std::array<bool, 256> kOrdinary = [] {
  std::array<bool, 256> table{};
  for (std::size_t byte = 0x20; byte < 256; ++byte) table[byte] = byte != 0x7f;
  return table;
}();

// Returns true if none of the next eight bytes is a control character or DEL. Never true if one is.
bool are_ordinary(const char* at) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  constexpr std::uint64_t kHighs = kEach * 0x80;
  std::uint64_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  const std::uint64_t controls = (bytes - kEach * 0x20) & ~bytes & kHighs;
  const std::uint64_t no_del = bytes ^ (kEach * 0x7f);
  const std::uint64_t dels = (no_del - kEach) & ~no_del & kHighs;
  return (controls | dels) == 0;
}

std::size_t skip_ordinary(std::string_view bytes, std::size_t at) {
  constexpr std::size_t kStep = sizeof(std::uint64_t);
  while (at + kStep <= bytes.size() && are_ordinary(bytes.data() + at)) at += kStep;
  while (at < bytes.size() && kOrdinary[static_cast<unsigned char>(bytes[at])]) ++at;
  return at;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

HeadScan::State HeadScan::scan(std::string_view bytes) {
  while (at_ < bytes.size()) {
    if (at_ == line_start_ && is_blank(bytes[at_])) return Bad{"a line begins with white space"};
    at_ = skip_ordinary(bytes, at_);
    if (at_ == bytes.size()) break;
    if (bytes[at_] == '\t') {
      ++at_;
      continue;
    }
    if (bytes[at_] == '\n') return Bad{"a line ends without CR"};
    if (bytes[at_] != '\r') return Bad{"a control byte in the head"};
    if (at_ + 1 == bytes.size()) break;  // its LF may still be coming
    if (bytes[at_ + 1] != '\n') return Bad{"a CR without LF"};
    const bool empty = at_ == line_start_;
    at_ += 2;
    if (empty && line_start_ == 0) return Bad{"the message begins with an empty line"};
    if (empty) return Done{at_};
    line_start_ = at_;
  }
  return NeedMore{};
}

}  // namespace semel::http
