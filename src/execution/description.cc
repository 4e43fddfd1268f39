#include "execution/description.h"

#include <algorithm>

#include "core/fingerprint/json_find.h"
#include "runtime/spool.h"

namespace semel::execution {
namespace {

constexpr std::size_t kMethodBytesMax = 32;
constexpr std::size_t kPathBytesMax = 1024;
constexpr std::size_t kValueBytesMax = 256;
constexpr std::size_t kMembersBytesMax = 2048;  // of all pointers and values together
// Each member costs a pass over the body, on the worker's thread.
constexpr std::size_t kSearchedBytesMax = runtime::kSpooledAboveBytes;

// Cuts between two characters of UTF-8.
std::string cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  const auto is_inside = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  std::size_t end = bytes_max - kCutMark.size();
  while (end > 0 && is_inside(end)) --end;
  std::string out(text.substr(0, end));
  out += kCutMark;
  return out;
}

std::vector<DescribedMember> members_at(const std::vector<std::string>& pointers,
                                        std::string_view body) {
  std::vector<DescribedMember> members;
  if (body.size() > kSearchedBytesMax) return members;
  std::size_t bytes = 0;
  for (const std::string& pointer : pointers) {
    const auto parsed = core::JsonPointer::parse(pointer);
    if (!parsed) continue;
    const auto found = core::find_json_text(body, *parsed);
    if (!found) continue;
    DescribedMember member{pointer, cut(*found, kValueBytesMax)};
    // Between the parts of an object or array; there are none inside of a string.
    std::ranges::replace_if(member.value, [](char c) { return c >= 0 && c < ' '; }, ' ');
    bytes += member.pointer.size() + member.value.size();
    if (bytes > kMembersBytesMax) break;
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace

Description describe(const config::Config& config, std::string_view method, std::string_view path,
                     const std::vector<std::string>& pointers, std::string_view body) {
  if (config.record_format < config::kRecordFormat) return {};
  Description description{cut(method, kMethodBytesMax), cut(path, kPathBytesMax), {}};
  if (!pointers.empty() && !body.empty()) description.members = members_at(pointers, body);
  return description;
}

}  // namespace semel::execution
