#include "gateway/resource.h"

#include <simdjson.h>

#include <algorithm>

#include "net/message.h"

namespace semel {
namespace {

constexpr std::size_t kIdLengthMax = 255;
// A larger body is not parsed for the sake of an id: it would hold up the worker.
constexpr std::size_t kParsedBytesMax = 1024 * 1024;

std::string in_body(const std::string& pointer, std::string_view body) {
  if (body.size() > kParsedBytesMax) return {};
  thread_local simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::element at;
  if (parser.parse(body.data(), body.size()).get(root)) return {};
  if (root.at_pointer(pointer).get(at)) return {};
  if (std::string_view text; !at.get(text)) return std::string(text);
  if (std::int64_t number = 0; !at.get(number)) return std::to_string(number);
  if (std::uint64_t number = 0; !at.get(number)) return std::to_string(number);
  return {};
}

std::string in_headers(std::string_view name, const std::vector<Header>& headers) {
  for (const Header& header : headers) {
    if (net::iequals(header.name, name)) return header.value;
  }
  return {};
}

}  // namespace

std::string find_resource_id(const ResourceConfig& config, const std::vector<Header>& headers,
                             std::string_view body) {
  if (config.id.empty()) return {};
  std::string id =
      config.id.starts_with('/') ? in_body(config.id, body) : in_headers(config.id, headers);
  const bool readable = std::ranges::all_of(id, [](char c) { return c >= ' ' && c <= '~'; });
  if (id.size() > kIdLengthMax || !readable) return {};
  return id;
}

}  // namespace semel
