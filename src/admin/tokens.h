#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "semel/clock.h"

namespace semel {

// Who may change something through the admin listener: names, each with the digest of a token.
//
//   file  = *(line LF)
//   line  = "" / "#" … / name SP token / name SP "sha256:" 64 hexadecimal digits
//   name  = 1 to 64 letters, digits, "_", "." or "-"
//   token = 16 to 256 printable characters without a space
class AdminTokens {
 public:
  // The errors are sentences for the operator, and never show a token.
  static std::expected<AdminTokens, std::string> parse(std::string_view text);
  // Also refused: a file that others than its owner and group can read or change.
  static std::expected<AdminTokens, std::string> load(const std::string& file);
  // Makes the file first, with one random token named "admin" and mode 0600, if it is not there.
  static std::expected<AdminTokens, std::string> load_or_make(const std::string& file,
                                                              TokenSource& random);

  // The name that goes with the token, or nullopt. Takes the same time whichever it is.
  std::optional<std::string> name_of(std::string_view token) const;
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    std::string name;
    Sha256Digest digest;
  };
  std::vector<Entry> entries_;
};

// Where the generated token lies.
std::string generated_tokens_file(const std::string& store_path);

// The first token in such a file that can be sent, that is, of which it has more than the digest;
// or the only word of a file that has only one. For clients.
std::expected<std::string, std::string> token_to_send(const std::string& file);

}  // namespace semel
