#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "semel/driver/clock.h"

namespace semel::admin {

// The operators who may change something through the admin listener: names, each with the digest of
// a token.
//
//   file  = *(line LF)
//   line  = "" / "#" … / name SP token / name SP "sha256:" 64 hexadecimal digits
//   name  = 1 to 64 letters, digits, "_", "." or "-"
//   token = 16 to 256 printable characters without a space
class AdminTokens {
 public:
  // The errors are sentences for the operator, and never show a token.
  static std::expected<AdminTokens, std::string> parse(std::string_view text);
  // Also refuses a file that others than its owner and group can read or change.
  static std::expected<AdminTokens, std::string> load(const std::string& file);
  // Makes the file first if it is missing, with one random token named "admin" and mode 0600.
  static std::expected<AdminTokens, std::string> load_or_make(const std::string& file,
                                                              TokenSource& random);

  // Returns the name that goes with the token, or nullopt. Takes the same time in either case.
  std::optional<std::string> name_of(std::string_view token) const;
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    std::string name;
    base::Sha256Digest digest;
  };
  std::vector<Entry> entries_;
};

// Returns the path of the generated token's file.
std::string generated_tokens_file(const std::string& store_path);

// For clients: returns the first token in such a file that can be sent, that is, of which the file
// has more than the digest; or the only word of a file that has only one.
std::expected<std::string, std::string> token_to_send(const std::string& file);

}  // namespace semel::admin
