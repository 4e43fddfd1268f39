#include "execution/resource.h"

#include <algorithm>

#include "core/fingerprint/json_find.h"
#include "http/message.h"

namespace semel::execution {
namespace {

constexpr std::size_t kIdLengthMax = 255;
// A larger body is not parsed just for an id: that would hold up the worker.
constexpr std::size_t kParsedBytesMax = 1024 * 1024;

std::string in_body(const std::string& pointer, std::string_view body) {
  if (body.size() > kParsedBytesMax) return {};
  const auto parsed = core::JsonPointer::parse(pointer);
  if (!parsed) return {};
  core::JsonFound found = core::find_in_json(body, *parsed);
  if (auto* text = std::get_if<core::json_found::Text>(&found)) return std::move(text->text);
  const auto* number = std::get_if<core::json_found::Number>(&found);
  const bool is_whole = number && number->digits.find_first_of(".eE") == std::string_view::npos;
  return is_whole ? std::string(number->digits) : std::string();
}

std::string in_headers(std::string_view name, const std::vector<Header>& headers) {
  for (const Header& header : headers) {
    if (http::iequals(header.name, name)) return header.value;
  }
  return {};
}

}  // namespace

std::string find_resource_id(const config::ResourceConfig& config,
                             const std::vector<Header>& headers, std::string_view body) {
  if (config.id.empty()) return {};
  std::string id =
      config.id.starts_with('/') ? in_body(config.id, body) : in_headers(config.id, headers);
  const bool readable = std::ranges::all_of(id, [](char c) { return c >= ' ' && c <= '~'; });
  if (id.size() > kIdLengthMax || !readable) return {};
  return id;
}

}  // namespace semel::execution
