#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <stdexcept>

namespace semel::base {

// Asks the kernel every time. The next output of a generator in this process would be in its
// memory, and would come again after a snapshot of the machine is restored.
void fill_random(void* bytes, std::size_t size) {
  auto* out = static_cast<unsigned char*>(bytes);
  while (size > 0) {
    const ssize_t given = ::getrandom(out, size, 0);
    if (given < 0 && errno == EINTR) continue;
    if (given <= 0) throw std::runtime_error("the system returned no random bytes");
    out += given;
    size -= static_cast<std::size_t>(given);
  }
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  fill_random(&number, sizeof number);
  return number;
}

}  // namespace semel::base
