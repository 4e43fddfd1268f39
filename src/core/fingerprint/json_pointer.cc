#include "core/fingerprint/json_pointer.h"

#include <fmt/format.h>

#include <charconv>

namespace semel::core {
namespace {

std::optional<std::string> unescape(std::string_view escaped) {
  std::string name;
  name.reserve(escaped.size());
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] != '~') {
      name.push_back(escaped[i]);
      continue;
    }
    ++i;
    if (i == escaped.size() || (escaped[i] != '0' && escaped[i] != '1')) return {};
    name.push_back(escaped[i] == '0' ? '~' : '/');
  }
  return name;
}

// Accepts "0", "7", "12", but neither "01" nor "-", which names the element after the last.
std::optional<std::size_t> element_index(std::string_view name) {
  if (name.empty() || (name.size() > 1 && name[0] == '0')) return {};
  std::size_t index = 0;
  const char* const end = name.data() + name.size();
  const auto [stopped_at, error] = std::from_chars(name.data(), end, index);
  if (error != std::errc() || stopped_at != end) return {};
  return index;
}

}  // namespace

std::expected<JsonPointer, std::string> JsonPointer::parse(std::string_view text) {
  if (text.empty()) {
    return std::unexpected("the empty pointer means the whole body; name a member, as in \"/id\"");
  }
  if (text[0] != '/') {
    return std::unexpected(
        fmt::format("a JSON Pointer begins with \"/\": write \"/{0}\" instead of \"{0}\"", text));
  }
  JsonPointer pointer;
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view escaped = text.substr(0, text.find('/'));
    text.remove_prefix(escaped.size());
    std::optional<std::string> name = unescape(escaped);
    if (!name) {
      return std::unexpected(
          fmt::format("in \"{}\" a \"~\" is not part of \"~0\" (which stands for ~) or \"~1\" "
                      "(which stands for /)",
                      escaped));
    }
    const std::optional<std::size_t> index = element_index(*name);
    const bool every = *name == "*";
    pointer.segments.push_back({std::move(*name), index, every});
  }
  return pointer;
}

}  // namespace semel::core
