#include "base/private_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace semel::base {
namespace {

constexpr uid_t kRoot = 0;
constexpr mode_t kForOthers = S_IRWXG | S_IRWXO;
constexpr mode_t kGroupReads = S_IRGRP;

class OpenFile {
 public:
  // Opens without blocking, so that a pipe cannot hang the start.
  explicit OpenFile(const std::string& file)
      : descriptor_(
            ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

std::string why_not_opened(int error) {
  if (error == ELOOP) {
    return "is a symbolic link; name the file that it leads to, or put a copy there (for a "
           "Kubernetes secret, mount the file itself with subPath)";
  }
  return std::string("cannot be read: ") + std::strerror(error);
}

}  // namespace

std::string private_file_error(const struct stat& status, uid_t user, PrivateUse use) {
  if (!S_ISREG(status.st_mode)) return "is not a file";
  if (use == PrivateUse::sent && user == kRoot) user = status.st_uid;
  if (status.st_uid != user && status.st_uid != kRoot) {
    return "belongs to another user, who can change it; chown it to the user that semel runs as";
  }
  // Root decides who may read its file, for example Debian's group ssl-cert for keys.
  const mode_t allowed = status.st_uid == user ? 0 : kGroupReads;
  if ((status.st_mode & kForOthers & ~allowed) != 0) {
    return allowed == 0 ? "users other than its owner can use it; chmod 600 it"
                        : "users other than root and its group can use it; chmod 640 it";
  }
  return "";
}

std::expected<std::string, std::string> read_private_file(const std::string& file,
                                                          std::size_t bytes_max, PrivateUse use) {
  const auto refuse = [&](const std::string& why) { return std::unexpected(file + ": " + why); };
  const OpenFile opened(file);
  if (opened.get() < 0) return refuse(why_not_opened(errno));
  struct stat status{};
  if (::fstat(opened.get(), &status) != 0) return refuse(why_not_opened(errno));
  if (const std::string wrong = private_file_error(status, ::geteuid(), use); !wrong.empty()) {
    return refuse(wrong);
  }
  std::string text(bytes_max + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(opened.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(why_not_opened(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > bytes_max) return refuse("is larger than " + std::to_string(bytes_max) + " bytes");
  text.resize(size);
  return text;
}

}  // namespace semel::base
