#include "gateway/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace semel {
namespace {

constexpr std::size_t kFileBytesMax = 64 * 1024;
constexpr mode_t kForOthers = S_IRWXO | S_IWGRP;

std::string errno_text() {
  return std::strerror(errno);
}

}  // namespace

std::expected<std::string, std::string> read_private_file(const std::string& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::unexpected(file + ": cannot be read: " + errno_text());
  std::string text(kFileBytesMax + 1, '\0');
  struct stat status{};
  const bool known = fstat(descriptor, &status) == 0;
  std::size_t size = 0;
  ssize_t got = 0;
  while (size < text.size() &&
         (got = read(descriptor, text.data() + size, text.size() - size)) > 0) {
    size += static_cast<std::size_t>(got);
  }
  const std::string why = errno_text();
  close(descriptor);
  if (!known || got < 0) return std::unexpected(file + ": cannot be read: " + why);
  if ((status.st_mode & kForOthers) != 0) {
    return std::unexpected(file + ": others than its owner can use it; chmod 600 it");
  }
  if (size > kFileBytesMax) return std::unexpected(file + ": is larger than 64 KiB");
  text.resize(size);
  return text;
}

}  // namespace semel
