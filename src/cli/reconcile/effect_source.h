#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

namespace semel::cli {

// Called with each line. Returns false to read no more.
using UseLine = std::function<bool(std::string_view line)>;

// Reads a file ("-": standard input) or a URL (http, https) line by line; only one line is kept in
// memory. The error is a sentence. An answer that was cut off is an error, never the end.
std::expected<void, std::string> read_lines(const std::string& from, const UseLine& use);

}  // namespace semel::cli
