#pragma once

#include <sys/stat.h>

#include <expected>
#include <memory>
#include <mutex>
#include <string>

#include "auth/jwk.h"
#include "config/config.h"

namespace semel::runtime {

// The keys that tokens are verified with, as they are in their file now.
class TokenKeys {
 public:
  // Reads the file. The error is a sentence for the operator.
  static std::expected<std::shared_ptr<TokenKeys>, std::string> load(
      const config::JwtConfig& config);

  // Any thread may call.
  std::shared_ptr<const auth::JwtKeys> current() const;

  // Reads the file if it has changed. If it cannot be used, the old keys stay, and the log says so,
  // once. Blocks; one caller at a time.
  void refresh();

 private:
  // Tells one version of a file from the next.
  struct Stamp {
    ino_t inode = 0;
    off_t bytes = 0;
    timespec modified = {};
    timespec changed = {};
    bool operator==(const Stamp& other) const;
  };

  explicit TokenKeys(const config::JwtConfig& config);
  Stamp stamp() const;
  std::expected<auth::JwtKeys, std::string> read() const;
  std::expected<auth::JwtKeys, std::string> read_secret() const;

  const std::string file_;
  const bool is_secret_;
  Stamp seen_;  // used only by refresh()'s caller
  mutable std::mutex mutex_;
  std::shared_ptr<const auth::JwtKeys> keys_;
};

}  // namespace semel::runtime
