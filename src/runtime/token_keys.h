#pragma once

#include <sys/stat.h>

#include <expected>
#include <memory>
#include <mutex>
#include <string>

#include "auth/jwk.h"
#include "config/config.h"

namespace semel {

// The keys that tokens are verified with, as their file says now.
class TokenKeys {
 public:
  // Reads the file. The error is a sentence for the operator.
  static std::expected<std::shared_ptr<TokenKeys>, std::string> load(const JwtConfig& config);

  // For any thread.
  std::shared_ptr<const JwtKeys> current() const;

  // Looks whether the file is another one than before, and reads it then. What cannot be used keeps
  // the old keys; the log says so, once. Blocks; one caller at a time.
  void refresh();

 private:
  // What tells one version of a file from the next.
  struct Stamp {
    ino_t inode = 0;
    off_t bytes = 0;
    timespec modified = {};
    timespec changed = {};
    bool operator==(const Stamp& other) const;
  };

  explicit TokenKeys(const JwtConfig& config);
  Stamp stamp() const;
  std::expected<JwtKeys, std::string> read() const;
  std::expected<JwtKeys, std::string> read_secret() const;

  const std::string file_;
  const bool is_secret_;
  Stamp seen_;  // of refresh()'s caller
  mutable std::mutex mutex_;
  std::shared_ptr<const JwtKeys> keys_;
};

}  // namespace semel
