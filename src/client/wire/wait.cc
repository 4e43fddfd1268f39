#include "client/wire/wait.h"

#include <poll.h>

#include <algorithm>

#include "base/wakeup.h"

namespace semel {

struct Stop::Inside {
  base::Wakeup wakeup;
};

Stop::Stop() : inside_(std::make_shared<Inside>()) {}

void Stop::request() const noexcept {
  inside_->wakeup.signal();  // a write(), so signal handlers may call it
}

bool Stop::requested() const noexcept {
  pollfd one{descriptor(), POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

int Stop::descriptor() const noexcept {
  return inside_->wakeup.descriptor();
}

namespace client {

Waited wait_for(int descriptor, short events, const Limits& limits) {
  constexpr std::chrono::milliseconds kPollMax = std::chrono::hours(1);  // fits into an int
  for (;;) {
    // Negative descriptors are ignored by poll().
    pollfd both[] = {{limits.stop ? limits.stop->descriptor() : -1, POLLIN, 0},
                     {descriptor, events, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        limits.until - std::chrono::steady_clock::now());
    const auto slice = std::clamp(left, std::chrono::milliseconds(0), kPollMax);
    ::poll(both, 2, static_cast<int>(slice.count()));
    if (both[0].revents != 0) return Waited::stopped;
    if (both[1].revents != 0) return Waited::ready;
    if (left.count() <= 0) return Waited::timeout;
  }
}

}  // namespace client
}  // namespace semel
