#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "semel/answer.h"

// The console: pages for a browser at / of the admin listener. They are part of the program,
// contain no data, and do everything through /api, as curl would.
namespace semel::admin {

struct ConsoleFile {
  std::string_view path;  // as requested
  std::string_view type;
  std::string_view etag;  // with its quotes; changes with the content
  std::string_view content;
};
// Made of console/ when the program is built, by cmake/embed_console.cmake.
const std::vector<ConsoleFile>& console_files();

bool is_console_path(std::string_view path);
// Answers GET and HEAD of a file of the console, with 304 where the client has it already. nullopt:
// there is no such file.
std::optional<Answer> console_answer(const http::Request& request, std::string_view path);

}  // namespace semel::admin
