#include "cli/commands.h"

#include <cstdio>

namespace semel::cli {

int complain(const std::string& what, int code) {
  std::fprintf(stderr, "semel: %s\n", what.c_str());
  return code;
}

}  // namespace semel::cli
