#include "cli/commands.h"

#include <cstdio>

#include "cli/line/terminal.h"

namespace semel::cli {

int complain(const std::string& what, int code) {
  std::fprintf(stderr, "%s %s\n", style_of(stderr).fault("semel:").c_str(), what.c_str());
  return code;
}

}  // namespace semel::cli
