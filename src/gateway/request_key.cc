#include "gateway/request_key.h"

#include <simdjson.h>

namespace semel {
namespace {

// Longer texts get a parser of their own, so that one large body does not stay in every thread.
constexpr std::size_t kReusedTextBytesMax = std::size_t{64} << 10;

bool is_key_header(const KeyConfig& config, std::string_view name) {
  if (net::iequals(name, config.header)) return true;
  for (const std::string& alias : config.aliases) {
    if (net::iequals(name, alias)) return true;
  }
  return false;
}

}  // namespace

bool has_key_header(const KeyConfig& config, const net::Request& request) {
  for (const net::Field& field : request.fields()) {
    if (is_key_header(config, field.name)) return true;
  }
  return false;
}

FoundKey key_from_headers(const KeyConfig& config, const net::Request& request) {
  std::optional<std::string> found;
  for (const net::Field& field : request.fields()) {
    if (!is_key_header(config, field.name)) continue;
    if (request.count(field.name) > 1) {
      return found_key::Bad{"The header " + std::string(field.name) +
                            " stands more than once; send one key."};
    }
    auto key = parse_key(field.value, config.rules);
    if (!key) return found_key::Bad{std::move(key.error())};
    if (found && *found != *key) {
      return found_key::Bad{"Two headers carry different keys; send one key."};
    }
    found = std::move(*key);
  }
  if (!found) return found_key::None{};
  return found_key::Key{std::move(*found)};
}

FoundKey key_from_body(const KeyConfig& config, std::string_view body) {
  thread_local simdjson::dom::parser kept_parser;
  simdjson::dom::parser own_parser;
  simdjson::dom::parser& parser = body.size() > kReusedTextBytesMax ? own_parser : kept_parser;
  simdjson::dom::element root;
  if (parser.parse(body.data(), body.size()).get(root)) return found_key::None{};
  simdjson::dom::element at;
  if (root.at_pointer(config.pointer).get(at)) return found_key::None{};
  std::string_view text;
  if (at.get(text)) return found_key::Bad{"The key in the body is not a string."};
  auto key = check_key(text, config.rules);
  if (!key) return found_key::Bad{std::move(key.error())};
  return found_key::Key{std::move(*key)};
}

}  // namespace semel
