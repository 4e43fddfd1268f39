#include "base/wakeup.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace semel::base {

Wakeup::Wakeup() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Wakeup::~Wakeup() {
  close(descriptor_);
}

void Wakeup::signal() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(descriptor_, &one, sizeof one);
}

void Wakeup::clear() {
  std::uint64_t signals = 0;
  [[maybe_unused]] const auto got = read(descriptor_, &signals, sizeof signals);
}

}  // namespace semel::base
