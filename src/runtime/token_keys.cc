#include "runtime/token_keys.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/private_file.h"
#include "telemetry/log.h"

namespace semel {
namespace {

constexpr std::size_t kFileBytesMax = 1024 * 1024;

bool same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

bool TokenKeys::Stamp::operator==(const Stamp& other) const {
  return inode == other.inode && bytes == other.bytes && same(modified, other.modified) &&
         same(changed, other.changed);
}

TokenKeys::TokenKeys(const JwtConfig& config)
    : file_(config.jwks_file.empty() ? config.secret_file : config.jwks_file),
      is_secret_(config.jwks_file.empty()) {}

TokenKeys::Stamp TokenKeys::stamp() const {
  struct stat found{};
  if (::stat(file_.c_str(), &found) != 0) return {};
  return {found.st_ino, found.st_size, found.st_mtim, found.st_ctim};
}

// A set of public keys is not a secret, so its file need not be private; a file with a secret is
// read as one.
std::expected<JwtKeys, std::string> TokenKeys::read() const {
  if (is_secret_) return read_secret();
  std::ifstream in(file_, std::ios::binary);
  std::string text(kFileBytesMax + 1, '\0');
  if (!in) return std::unexpected(file_ + " cannot be read: " + std::strerror(errno));
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return std::unexpected(file_ + " cannot be read");
  if (text.size() > kFileBytesMax) return std::unexpected(file_ + " is larger than 1 MiB");
  auto keys = JwtKeys::from_jwks(text);
  if (!keys) return std::unexpected(file_ + " " + keys.error());
  if (keys->has_secret()) return read_secret();
  return keys;
}

std::expected<JwtKeys, std::string> TokenKeys::read_secret() const {
  const auto text = read_private_file(file_, kFileBytesMax);
  if (!text) return std::unexpected(text.error());
  auto keys = is_secret_ ? JwtKeys::from_secret(*text) : JwtKeys::from_jwks(*text);
  if (!keys) return std::unexpected(file_ + " " + keys.error());
  return keys;
}

std::expected<std::shared_ptr<TokenKeys>, std::string> TokenKeys::load(const JwtConfig& config) {
  std::shared_ptr<TokenKeys> loaded(new TokenKeys(config));
  loaded->seen_ = loaded->stamp();
  auto keys = loaded->read();
  if (!keys) return std::unexpected(std::move(keys.error()));
  loaded->keys_ = std::make_shared<const JwtKeys>(*std::move(keys));
  return loaded;
}

std::shared_ptr<const JwtKeys> TokenKeys::current() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

void TokenKeys::refresh() {
  const Stamp now = stamp();
  if (now == seen_) return;
  seen_ = now;  // before it is read: a change meanwhile is seen the next time
  auto keys = read();
  if (!keys) {
    log_event(LogLevel::error, "keys of tokens refused, the old ones stay",
              {{"why", keys.error()}});
    return;
  }
  const std::size_t count = keys->size();
  auto fresh = std::make_shared<const JwtKeys>(*std::move(keys));
  {
    const std::lock_guard lock(mutex_);
    keys_ = std::move(fresh);
  }
  log_event(LogLevel::info, "keys of tokens loaded",
            {{"file", file_}, {"keys", std::to_string(count)}});
}

}  // namespace semel
