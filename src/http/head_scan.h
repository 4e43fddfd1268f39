#pragma once

#include <cstddef>
#include <string_view>
#include <variant>

namespace semel::http {

// Finds the end of a message head and refuses what two parsers could read differently: bare CR or
// LF, control bytes, folded lines, leading blanks. If it lets one of those pass, a request can be
// smuggled past the gateway.
class HeadScan {
 public:
  struct NeedMore {};
  struct Done {
    std::size_t head_bytes;  // including the empty line
  };
  struct Bad {
    std::string_view why;
  };
  using State = std::variant<NeedMore, Done, Bad>;

  // `bytes` is everything received so far from the beginning of the head; it only grows from call
  // to call.
  State scan(std::string_view bytes);

 private:
  std::size_t at_ = 0;          // scanned so far
  std::size_t line_start_ = 0;  // of the line that at_ is in
};

}  // namespace semel::http
