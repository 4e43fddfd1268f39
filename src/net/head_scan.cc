#include "net/head_scan.h"

namespace semel::net {

HeadScan::State HeadScan::scan(std::string_view bytes) {
  for (; at_ < bytes.size(); ++at_) {
    const auto byte = static_cast<unsigned char>(bytes[at_]);
    if (byte >= 0x20 && byte != 0x7f) {
      if (byte == ' ' && at_ == line_start_) return Bad{"a line begins with a blank"};
      continue;
    }
    if (byte == '\t') {
      if (at_ == line_start_) return Bad{"a line begins with a blank"};
      continue;
    }
    if (byte == '\n') {
      if (at_ == line_start_ || bytes[at_ - 1] != '\r') return Bad{"a line ends without CR"};
      if (at_ == line_start_ + 1) {
        // An empty line before the start line is skipped by nobody here: it is refused.
        if (line_start_ == 0) return Bad{"the message begins with an empty line"};
        return Done{at_ + 1};
      }
      line_start_ = at_ + 1;
      continue;
    }
    if (byte == '\r') {
      if (at_ + 1 == bytes.size()) return NeedMore{};
      if (bytes[at_ + 1] != '\n') return Bad{"a CR stands alone"};
      continue;
    }
    return Bad{"a control byte in the head"};
  }
  return NeedMore{};
}

}  // namespace semel::net
