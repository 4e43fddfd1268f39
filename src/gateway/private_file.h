#pragma once

#include <expected>
#include <string>

namespace semel {

// The text of a small file that has secrets in it: at most 64 KiB, and refused if others than its
// owner can change it, or others than owner and group can read it. It waits for the disk. The error
// is a sentence for the operator.
std::expected<std::string, std::string> read_private_file(const std::string& file);

}  // namespace semel
