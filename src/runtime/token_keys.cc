#include "runtime/token_keys.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/private_file.h"
#include "telemetry/log.h"

namespace semel::runtime {
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

TokenKeys::TokenKeys(const config::JwtConfig& config)
    : file_(config.jwks_file.empty() ? config.secret_file : config.jwks_file),
      is_secret_(config.jwks_file.empty()) {}

TokenKeys::Stamp TokenKeys::stamp() const {
  struct stat found{};
  if (::stat(file_.c_str(), &found) != 0) return {};
  return {found.st_ino, found.st_size, found.st_mtim, found.st_ctim};
}

// A set of public keys is not a secret, so its file need not be private; a file with a secret is
// read as one.
std::expected<auth::JwtKeys, std::string> TokenKeys::read() const {
  if (is_secret_) return read_secret();
  std::ifstream in(file_, std::ios::binary);
  std::string text(kFileBytesMax + 1, '\0');
  if (!in) return std::unexpected(file_ + " cannot be read: " + std::strerror(errno));
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return std::unexpected(file_ + " cannot be read");
  if (text.size() > kFileBytesMax) return std::unexpected(file_ + " is larger than 1 MiB");
  auto keys = auth::JwtKeys::from_jwks(text);
  if (!keys) return std::unexpected(file_ + " " + keys.error());
  if (keys->has_secret()) return read_secret();
  return keys;
}

std::expected<auth::JwtKeys, std::string> TokenKeys::read_secret() const {
  const auto text = base::read_private_file(file_, kFileBytesMax);
  if (!text) return std::unexpected(text.error());
  auto keys = is_secret_ ? auth::JwtKeys::from_secret(*text) : auth::JwtKeys::from_jwks(*text);
  if (!keys) return std::unexpected(file_ + " " + keys.error());
  return keys;
}

std::expected<std::shared_ptr<TokenKeys>, std::string> TokenKeys::load(
    const config::JwtConfig& config) {
  std::shared_ptr<TokenKeys> loaded(new TokenKeys(config));
  loaded->seen_ = loaded->stamp();
  auto keys = loaded->read();
  if (!keys) return std::unexpected(std::move(keys.error()));
  loaded->keys_ = std::make_shared<const auth::JwtKeys>(*std::move(keys));
  return loaded;
}

std::shared_ptr<const auth::JwtKeys> TokenKeys::current() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

void TokenKeys::refresh() {
  const Stamp now = stamp();
  if (now == seen_) return;
  seen_ = now;  // before it is read: a change meanwhile is seen the next time
  auto keys = read();
  if (!keys) {
    telemetry::log_event(config::LogLevel::error, "new token keys rejected; keeping the old ones",
                         {{"why", keys.error()}});
    return;
  }
  const std::size_t count = keys->size();
  auto fresh = std::make_shared<const auth::JwtKeys>(*std::move(keys));
  {
    const std::lock_guard lock(mutex_);
    keys_ = std::move(fresh);
  }
  telemetry::log_event(config::LogLevel::info, "token keys loaded",
                       {{"file", file_}, {"keys", std::to_string(count)}});
}

}  // namespace semel::runtime
