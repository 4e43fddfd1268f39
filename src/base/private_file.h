#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <expected>
#include <string>

// The rule for every file that holds secrets: TLS keys, token keys, encryption keys, hash keys and
// operator tokens.
//
//   It must be a regular file, not a symbolic link. Either it belongs to the user of this process,
//   root included, and nobody else has access (0600), or it belongs to root, who is not that user,
//   and its group may also read it (0640).
//
// Symbolic links are refused because whoever may change the link decides what is read, whatever the
// mode of the file.
namespace semel::base {

inline constexpr std::size_t kPrivateFileBytesMax = 64 * 1024;

// believed: the content decides something here. sent: the content is only passed on to the party it
// was made for, so root may use another user's file (`sudo semel keys`).
enum class PrivateUse { believed, sent };

// Returns the whole content. Checks the opened file itself, so what is checked is what is read.
// Blocks on the disk. The error is a sentence for the operator that begins with the file's name and
// says what to do.
std::expected<std::string, std::string> read_private_file(
    const std::string& file, std::size_t bytes_max = kPrivateFileBytesMax,
    PrivateUse use = PrivateUse::believed);

// Says what is wrong with a file of this status for a process of this user; "": nothing.
std::string private_file_error(const struct stat& status, uid_t user, PrivateUse use);

}  // namespace semel::base
