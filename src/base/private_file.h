#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <expected>
#include <string>

// The one rule for files that have secrets in them: keys of TLS and of tokens, of encryption and of
// hashes, tokens of operators.
//
//   It is a file, not a symbolic link. It belongs to the user of this process, and nobody else can
//   reach it (0600); or it belongs to root, and its group may read it besides (0640).
//
// A symbolic link is refused since whoever may change it decides what is read, whatever the mode of
// the file says.
namespace semel {

inline constexpr std::size_t kPrivateFileBytesMax = 64 * 1024;

// believed: what it says decides something here. sent: it is only handed to whom it was made for,
// so that root may use another user's (`sudo semel keys`).
enum class PrivateUse { believed, sent };

// The whole file. What is judged is what is read: the opened file. It waits for the disk. The error
// is a sentence for the operator that begins with the file's name and says what to do.
std::expected<std::string, std::string> read_private_file(
    const std::string& file, std::size_t bytes_max = kPrivateFileBytesMax,
    PrivateUse use = PrivateUse::believed);

// What is wrong with a file of this status for a process of this user; "": nothing.
std::string private_file_error(const struct stat& status, uid_t user, PrivateUse use);

}  // namespace semel
