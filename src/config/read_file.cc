#include "config/read_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace semel {
namespace {

Environment current_environment() {
  Environment out;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

}  // namespace

ConfigOutcome read_config(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || in.bad()) {
    const std::string why = std::string("cannot be read: ") + std::strerror(errno);
    return {.config = std::nullopt,
            .errors = {{.file = file, .line = 0, .key = "", .message = why}},
            .warnings = {}};
  }
  return parse_config(text.str(), file, current_environment());
}

}  // namespace semel
