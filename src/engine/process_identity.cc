#include "engine/process_identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/random.h"

namespace semel::engine {
namespace {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace

const Owner& this_node() {
  static const Owner node{host_name(), base::random_number()};
  return node;
}

std::string run_text(const Owner& owner) {
  return fmt::format("{:016x}", owner.run);
}

}  // namespace semel::engine
