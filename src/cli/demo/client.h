#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace semel::cli {

struct DemoAnswer {
  int status = 0;  // 0: no answer came
  bool replayed = false;
  std::string body;
};

// One request of the demo. `when_sent` is called between sending and reading; with `read` false the
// client then goes away, and the answer is lost.
struct DemoRequest {
  std::uint16_t port = 0;
  std::string key;
  std::string body;
  bool read = true;
  std::function<void()> when_sent = [] {};
};
DemoAnswer post_charge(const DemoRequest& request);

}  // namespace semel::cli
