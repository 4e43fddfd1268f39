#include "cli/admin/command.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>

#include "cli/commands.h"
#include "cli/load_config.h"
#include "core/json_text.h"

namespace semel::cli {

namespace json = boost::json;

void add_admin_options(CLI::App& command, AdminOptions& options, bool placed) {
  command
      .add_option("--admin", options.url,
                  "Address of the admin listener; default http://127.0.0.1:9090")
      ->type_name("URL");
  add_config_file(command, options.config,
                  "Take the listener and the token from this configuration file", placed);
  command.add_option("--token-file", options.token_file, "File with the token to send")
      ->type_name("FILE");
}

int explain_reply(const AdminReply& reply) {
  std::string detail = text_of(reply.body, "detail");
  if (detail.empty()) detail = fmt::format("the gateway answered {}", reply.status);
  switch (reply.status) {
    case 401:
    case 403:
      return complain(detail, kExitNotAllowed);
    case 404:
      return complain(detail, kExitNotFound);
    case 409:
      return complain(detail, kExitRefused);
    case 400:
      return complain(detail, kExitUsage);
    default:
      return complain(detail, kExitFailed);
  }
}

void print_json(const json::value& value) {
  std::puts(core::json_text(value).c_str());
}

std::string text_of(const json::value& object, std::string_view name) {
  const auto* value = object.is_object() ? object.get_object().if_contains(name) : nullptr;
  if (!value || value->is_null()) return "";
  std::string text =
      value->is_string() ? json::value_to<std::string>(*value) : core::json_text(*value);
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte == 0x7f) c = ' ';
  }
  return text;
}

std::string cut(std::string text, std::size_t length) {
  if (text.size() > length) text = text.substr(0, length - 3) + "...";
  return text;
}

std::string age_text(std::int64_t seconds) {
  if (seconds < 120) return fmt::format("{}s", seconds);
  if ((seconds /= 60) < 120) return fmt::format("{}m", seconds);
  if ((seconds /= 60) < 48) return fmt::format("{}h", seconds);
  return fmt::format("{}d", seconds / 24);
}

}  // namespace semel::cli
