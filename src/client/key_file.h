#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "semel/time.h"

// The file that remembers the key of a name. docs/formats.md has the grammar.
//
// A key is on disk, file and folder synced, before anybody gets to see it. Otherwise a program that
// is killed and started again would send the same operation under a second key, and it would happen
// twice.
namespace semel::client {

struct NamedKey {
  std::string key;
  Time made_at;
};

// Writers exclude each other by flock(2), which ends with the process that held it. Any thread.
class KeyFile {
 public:
  explicit KeyFile(std::string file) : file_(std::move(file)) {}

  // Returns the key of the name; `fresh` and `now` are written down if there is none. Fails if the
  // name stands for another digest, or if the file cannot be used; the error is a sentence that
  // says what to do.
  std::expected<NamedKey, std::string> find_or_add(std::string_view name, std::string_view digest,
                                                   std::string_view fresh, Time now) const;

  // Returns whether the name was there.
  std::expected<bool, std::string> remove(std::string_view name) const;

 private:
  const std::string file_;
};

}  // namespace semel::client
