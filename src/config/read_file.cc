#include "config/read_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "config/reading/tree.h"

namespace semel::config {
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
  // Reads one byte more than is allowed, so that the parser reports a file that is too large.
  std::string text(reading::kFileBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  std::error_code ignored;
  const bool is_directory = std::filesystem::is_directory(file, ignored);
  if (!in.is_open() || in.bad() || is_directory) {
    const std::string why = is_directory ? "it is a directory" : std::strerror(errno);
    return {.config = std::nullopt,
            .errors = {{.file = file, .line = 0, .key = "", .message = "cannot be read: " + why}},
            .warnings = {}};
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parse_config(text, file, current_environment());
}

}  // namespace semel::config
