#include "gateway/keyed/request_key.h"

#include "core/fingerprint/json_find.h"
#include "core/fingerprint/media_type.h"

namespace semel::gateway {
namespace {

bool is_key_header(const config::KeyConfig& config, std::string_view name) {
  if (http::iequals(name, config.header)) return true;
  for (const std::string& alias : config.aliases) {
    if (http::iequals(name, alias)) return true;
  }
  return false;
}

}  // namespace

bool has_key_header(const config::KeyConfig& config, const http::Request& request) {
  for (const http::Field& field : request.fields()) {
    if (is_key_header(config, field.name)) return true;
  }
  return false;
}

FoundKey key_from_headers(const config::KeyConfig& config, const http::Request& request) {
  std::optional<std::string> found;
  for (const http::Field& field : request.fields()) {
    if (!is_key_header(config, field.name)) continue;
    if (request.count(field.name) > 1) {
      return found_key::Bad{"The header " + std::string(field.name) +
                            " was sent more than once; send one key."};
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

FoundKey key_from_body(const config::KeyConfig& config, std::string_view content_encoding,
                       std::string_view body) {
  if (body.empty()) return found_key::None{};
  if (core::is_encoded(content_encoding)) {
    return found_key::Bad{"The body cannot be read for " + config.pointer +
                          ": it has a Content-Encoding."};
  }
  const auto pointer = core::JsonPointer::parse(config.pointer);
  if (!pointer) return found_key::Bad{pointer.error()};  // the configuration has no such pointer
  const core::JsonFound found = core::find_in_json(body, *pointer);
  if (std::holds_alternative<core::json_found::Absent>(found)) return found_key::None{};
  if (const auto* unreadable = std::get_if<core::json_found::Unreadable>(&found)) {
    return found_key::Bad{"The body cannot be read for " + config.pointer + ": " +
                          std::string(unreadable->why)};
  }
  const auto* text = std::get_if<core::json_found::Text>(&found);
  if (!text) return found_key::Bad{"The key in the body is not a string."};
  auto key = check_key(text->text, config.rules);
  if (!key) return found_key::Bad{std::move(key.error())};
  return found_key::Key{std::move(*key)};
}

}  // namespace semel::gateway
