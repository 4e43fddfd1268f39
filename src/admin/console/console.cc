#include "admin/console/console.h"

#include <algorithm>

#include "admin/admin_answer.h"

namespace semel::admin {
namespace {

// No script, style or frame of anybody else, nothing inline, and no request to anywhere but here: a
// text that came in with a request stays a text even if the page failed to treat it as one.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// If-None-Match has a list of tags, or a star; a weak tag is as good as a strong one here.
bool has_already(const http::Request& request, std::string_view etag) {
  const auto tags = request.field("If-None-Match");
  return tags && (*tags == "*" || tags->find(etag) != std::string_view::npos);
}

}  // namespace

bool is_console_path(std::string_view path) {
  return path == "/" || path.starts_with("/console/");
}

std::optional<Answer> console_answer(const http::Request& request, std::string_view path) {
  const auto& files = console_files();
  const auto file = std::ranges::find(files, path, &ConsoleFile::path);
  if (file == files.end()) return std::nullopt;
  const bool unchanged = has_already(request, file->etag);
  Answer answer = text_answer(unchanged ? 304 : 200, std::string(unchanged ? "" : file->content),
                              std::string(file->type));
  answer.headers.push_back({"ETag", std::string(file->etag)});
  // Kept, but asked about each time: after an upgrade, no page is made of old and new files.
  answer.headers.push_back({"Cache-Control", "no-cache"});
  answer.headers.push_back({"Content-Security-Policy", std::string(kPolicy)});
  answer.headers.push_back({"X-Content-Type-Options", "nosniff"});
  answer.headers.push_back({"Referrer-Policy", "no-referrer"});
  answer.headers.push_back({"Cross-Origin-Opener-Policy", "same-origin"});
  return answer;
}

}  // namespace semel::admin
