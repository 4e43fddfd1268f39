#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "cli/line/terminal.h"

namespace semel::cli {

// The state of a gateway as the admin API tells it: /api/status, /api/stats and /api/decisions.
struct Seen {
  boost::json::value status;
  boost::json::value stats;
  boost::json::value decisions;
  std::string trouble;  // why it could not be asked again; "": it answered
  bool paused = false;
};

struct FrameSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

// Draws it as lines of text, none longer than the frame is wide, and as many as it is high at most.
// `utf8`: the terminal shows block characters.
std::vector<std::string> draw_frame(const Seen& seen, FrameSize size, const TextStyle& style,
                                    bool utf8);

}  // namespace semel::cli
