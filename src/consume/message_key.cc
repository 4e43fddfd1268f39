#include "consume/message_key.h"

#include <optional>
#include <string_view>

#include "gateway/keyed/request_key.h"
#include "http/message.h"
#include "semel/key.h"

namespace semel::consume {
namespace {

using Found = std::expected<std::string, DeadLetter>;

Found missing(std::string where) {
  return std::unexpected(
      DeadLetter{.reason = "id-missing", .detail = "The message has no " + where + "."});
}

Found invalid(std::string why) {
  return std::unexpected(DeadLetter{.reason = "id-invalid", .detail = std::move(why)});
}

Found from_fields(const std::vector<Header>& fields, const config::MessageKeyConfig& config,
                  std::string_view kind) {
  std::optional<std::string_view> found;
  for (const Header& field : fields) {
    if (!http::iequals(field.name, config.name)) continue;
    if (found && *found != field.value) {
      return invalid("The " + std::string(kind) + " " + config.name + " appears more than once.");
    }
    found = field.value;
  }
  if (!found || found->empty()) return missing(std::string(kind) + " " + config.name);
  auto key = check_key(*found, config.rules);
  if (!key) return invalid(std::move(key.error()));
  return *std::move(key);
}

Found from_body(const std::string& body, const config::MessageKeyConfig& config) {
  config::KeyConfig key;
  key.pointer = config.pointer;
  key.rules = config.rules;
  gateway::FoundKey found = gateway::key_from_body(key, {}, body);
  if (auto* bad = std::get_if<gateway::found_key::Bad>(&found)) return invalid(std::move(bad->why));
  if (auto* good = std::get_if<gateway::found_key::Key>(&found)) return std::move(good->key);
  return missing("string at " + config.pointer + " of its JSON body");
}

}  // namespace

Found find_message_key(const config::MessageKeyConfig& config, const BrokerMessage& message) {
  switch (config.from) {
    case config::MessageKeySource::property:
      return from_fields(message.properties, config, "property");
    case config::MessageKeySource::header:
      return from_fields(message.headers, config, "header");
    case config::MessageKeySource::pointer:
      return from_body(message.body, config);
  }
  return missing("id");
}

}  // namespace semel::consume
