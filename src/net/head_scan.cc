#include "net/head_scan.h"

#include <array>

namespace semel::net {
namespace {

// The bytes that need no look: everything but controls and DEL.
constexpr std::array<bool, 256> kOrdinary = [] {
  std::array<bool, 256> table{};
  for (std::size_t byte = 0x20; byte < 256; ++byte) table[byte] = byte != 0x7f;
  return table;
}();

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

HeadScan::State HeadScan::scan(std::string_view bytes) {
  while (at_ < bytes.size()) {
    if (at_ == line_start_ && is_blank(bytes[at_])) return Bad{"a line begins with a blank"};
    while (at_ < bytes.size() && kOrdinary[static_cast<unsigned char>(bytes[at_])]) ++at_;
    if (at_ == bytes.size()) break;
    if (bytes[at_] == '\t') {
      ++at_;
      continue;
    }
    if (bytes[at_] == '\n') return Bad{"a line ends without CR"};
    if (bytes[at_] != '\r') return Bad{"a control byte in the head"};
    if (at_ + 1 == bytes.size()) break;  // its LF may be on the way
    if (bytes[at_ + 1] != '\n') return Bad{"a CR stands alone"};
    const bool empty = at_ == line_start_;
    at_ += 2;
    if (empty && line_start_ == 0) return Bad{"the message begins with an empty line"};
    if (empty) return Done{at_};
    line_start_ = at_;
  }
  return NeedMore{};
}

}  // namespace semel::net
