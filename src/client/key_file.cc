#include "client/key_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/private_file.h"

namespace semel::client {
namespace {

using Refused = std::unexpected<std::string>;

constexpr std::string_view kFirstLine = "semel-keys 1\n";
constexpr std::size_t kNameBytesMax = 255;
constexpr off_t kFileBytesMax = off_t{64} << 20;
constexpr int kLockTriesMax = 1000;  // of 10 ms: nobody holds the lock for longer than two syncs
constexpr useconds_t kLockPause = 10 * 1000;

struct Entry {
  std::string_view name, key, digest;
  Time made_at;
};

// One line: name, key, digest and milliseconds since 1970, separated by tabs.
std::optional<Entry> parse_entry(std::string_view line) {
  std::string_view parts[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t tab = line.find('\t');
    if ((tab == std::string_view::npos) != (i == 3)) return std::nullopt;
    parts[i] = line.substr(0, tab);
    line.remove_prefix(i == 3 ? line.size() : tab + 1);
  }
  std::int64_t made_at = 0;
  const char* end = parts[3].data() + parts[3].size();
  if (std::from_chars(parts[3].data(), end, made_at).ptr != end) return std::nullopt;
  return Entry{parts[0], parts[1], parts[2], Time(Duration(made_at))};
}

// The file, open, locked and read. What follows the last line end is a write that was interrupted:
// nobody has seen its key.
class LockedFile {
 public:
  static std::expected<LockedFile, std::string> open(const std::string& file);
  ~LockedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  LockedFile(LockedFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), text_(std::move(other.text_)) {}
  LockedFile& operator=(LockedFile&&) = delete;

  int descriptor() const { return descriptor_; }
  const std::string& text() const { return text_; }

 private:
  LockedFile() = default;
  int descriptor_ = -1;
  std::string text_;
};

std::string system_error(const std::string& file, const char* what) {
  return file + ": cannot be " + what + ": " + std::strerror(errno);
}

bool lock(int descriptor) {
  for (int i = 0; i < kLockTriesMax; ++i) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    ::usleep(kLockPause);
  }
  return false;
}

bool read_all(int descriptor, std::string& text) {
  std::size_t size = 0;
  while (size < text.size()) {
    const auto got =
        ::pread(descriptor, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return true;
}

bool write_all(int descriptor, std::string_view text, off_t at) {
  while (!text.empty()) {
    const auto put = ::pwrite(descriptor, text.data(), text.size(), at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    at += put;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool sync_folder_of(const std::string& file) {
  std::string folder = std::filesystem::path(file).parent_path().string();
  if (folder.empty()) folder = ".";
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool synced = ::fsync(descriptor) == 0;
  ::close(descriptor);
  return synced;
}

std::expected<LockedFile, std::string> LockedFile::open(const std::string& file) {
  // Another process may have put a new file in its place before the lock was ours.
  for (;;) {
    LockedFile locked;
    locked.descriptor_ = ::open(
        file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    if (locked.descriptor_ < 0) return Refused(system_error(file, "opened"));
    if (!lock(locked.descriptor_)) return Refused(system_error(file, "locked"));
    struct stat here{};
    struct stat there{};
    if (::fstat(locked.descriptor_, &here) != 0) return Refused(system_error(file, "read"));
    if (::lstat(file.c_str(), &there) != 0 || here.st_ino != there.st_ino ||
        here.st_dev != there.st_dev) {
      continue;
    }
    std::string wrong = base::private_file_error(here, ::geteuid(), base::PrivateUse::believed);
    if (!wrong.empty()) return Refused(wrong.insert(0, file + ": "));
    if (here.st_size > kFileBytesMax) {
      return Refused(file + ": is too large; remove names that are done, or use another file");
    }
    locked.text_.resize(static_cast<std::size_t>(here.st_size));
    if (!read_all(locked.descriptor_, locked.text_)) return Refused(system_error(file, "read"));
    locked.text_.resize(locked.text_.rfind('\n') + 1);  // npos + 1 is 0
    if (!locked.text_.empty() && !locked.text_.starts_with(kFirstLine)) {
      return Refused(file + ": is not a file of keys; name another one");
    }
    return locked;
  }
}

template <class Visit>
std::optional<std::string> for_each_entry(const std::string& file, std::string_view text,
                                          Visit visit) {
  text.remove_prefix(std::min(kFirstLine.size(), text.size()));
  for (std::size_t number = 2; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const auto entry = parse_entry(line);
    if (!entry) return file + ": line " + std::to_string(number) + " is damaged; mend or remove it";
    visit(*entry, line);
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

std::string name_error(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax) {
    return "the name of a key has 1 to " + std::to_string(kNameBytesMax) + " bytes";
  }
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  return std::ranges::any_of(name, is_control) ? "the name of a key has no control characters" : "";
}

// Adds the entry behind the whole lines, in place of what an interrupted write left.
bool append(const LockedFile& locked, std::string_view line) {
  const auto size = static_cast<off_t>(locked.text().size());
  std::string text = size == 0 ? std::string(kFirstLine) : std::string();
  text += line;
  return ::ftruncate(locked.descriptor(), size) == 0 &&
         write_all(locked.descriptor(), text, size) && ::fsync(locked.descriptor()) == 0;
}

bool replace(const std::string& file, std::string_view text) {
  const std::string beside = file + ".new";
  const int descriptor =
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return false;
  const bool written = write_all(descriptor, text, 0) && ::fsync(descriptor) == 0;
  ::close(descriptor);
  return written && ::rename(beside.c_str(), file.c_str()) == 0 && sync_folder_of(file);
}

}  // namespace

std::expected<NamedKey, std::string> KeyFile::find_or_add(std::string_view name,
                                                          std::string_view digest,
                                                          std::string_view fresh, Time now) const {
  if (std::string wrong = name_error(name); !wrong.empty()) return Refused(std::move(wrong));
  const auto locked = LockedFile::open(file_);
  if (!locked) return Refused(locked.error());
  std::optional<NamedKey> found;
  bool same = false;
  const auto damaged = for_each_entry(file_, locked->text(), [&](const Entry& entry, auto) {
    if (entry.name != name) return;
    found = NamedKey{std::string(entry.key), entry.made_at};
    same = entry.digest == digest;
  });
  if (damaged) return Refused(*damaged);
  if (found && !same) {
    return Refused("the name '" + std::string(name) +
                   "' stands for another request (method, path " +
                   "or body differ); use another name, or remove this one when it is done");
  }
  if (found) {
    // Whoever wrote it may have been killed before it was synced.
    const bool synced = ::fsync(locked->descriptor()) == 0 && sync_folder_of(file_);
    if (!synced) return Refused(system_error(file_, "written"));
    return *std::move(found);
  }
  const std::string line = std::string(name) + "\t" + std::string(fresh) + "\t" +
                           std::string(digest) + "\t" +
                           std::to_string(now.time_since_epoch().count()) + "\n";
  if (!append(*locked, line) || !sync_folder_of(file_))
    return Refused(system_error(file_, "written"));
  return NamedKey{std::string(fresh), now};
}

std::expected<bool, std::string> KeyFile::remove(std::string_view name) const {
  if (::access(file_.c_str(), F_OK) != 0 && errno == ENOENT) return false;
  const auto locked = LockedFile::open(file_);
  if (!locked) return Refused(locked.error());
  std::string kept(kFirstLine);
  bool found = false;
  const auto damaged = for_each_entry(file_, locked->text(), [&](const Entry& entry, auto line) {
    if (entry.name == name) {
      found = true;
    } else {
      kept.append(line).push_back('\n');
    }
  });
  if (damaged) return Refused(*damaged);
  if (found && !replace(file_, kept)) return Refused(system_error(file_, "written"));
  return found;
}

}  // namespace semel::client
