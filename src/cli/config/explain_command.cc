#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "cli/config/config.h"
#include "cli/load_config.h"
#include "config/reading/values.h"
#include "core/json_text.h"
#include "engine/system_clock.h"
#include "gateway/explain.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

struct ExplainOptions {
  std::string file;
  std::string method;
  std::string target;
  std::vector<std::string> headers;
  std::string body;
  std::string tenant;
  bool from_trusted_proxy = false;
  bool as_json = false;
};

std::expected<std::string, std::string> body_of(const std::string& data) {
  if (!data.starts_with('@')) return data;
  std::ifstream in(data.substr(1), std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in) return std::unexpected("-d: " + data.substr(1) + " cannot be read");
  return text.str();
}

// One line per member, in the order in which they were found; what is inside comes below.
void print_members(const json::object& object, std::size_t indent) {
  for (const auto& member : object) {
    const std::string label = std::string(indent, ' ') + std::string(member.key());
    if (const auto* inner = member.value().if_object()) {
      fmt::print("{}\n", label);
      print_members(*inner, indent + 2);
      continue;
    }
    const auto* parts = member.value().if_array();
    if (parts && !parts->empty() && parts->front().is_object()) {
      fmt::print("{}\n", label);
      for (const json::value& part : *parts) {
        fmt::print("{}{:<22}{}\n", std::string(indent + 2, ' '),
                   config::reading::shown(part.at("part").as_string()),
                   json::value_to<std::string>(part.at("digest")));
      }
      continue;
    }
    const std::string text = member.value().is_string()
                                 ? json::value_to<std::string>(member.value())
                                 : core::json_text(member.value());
    fmt::print("{:<24}{}\n", label, text);
  }
}

int explain_config(const ExplainOptions& options) {
  const auto config = load_config(options.file);
  if (!config) return kExitUsage;
  gateway::ExplainedRequest request;
  auto body = body_of(options.body);
  if (!body) return complain(body.error(), kExitUsage);
  request.body = *std::move(body);
  if (const auto wrong = gateway::make_message(options.method, options.target, options.headers,
                                               request.body.size(), request.message)) {
    return complain(*wrong, kExitUsage);
  }
  if (!options.tenant.empty()) request.tenant = options.tenant;
  request.from_trusted_proxy = options.from_trusted_proxy;
  const auto keys = runtime::KeyMaterial::load_for_gateway(*config);
  if (!keys) return complain(keys.error(), kExitUsage);
  const json::object found =
      gateway::explain_request(request, *config, *keys, engine::SystemClock().now());
  if (options.as_json) {
    std::puts(core::json_text(found).c_str());
  } else {
    print_members(found, 0);
  }
  return kExitOk;
}

}  // namespace

void add_config_explain(CLI::App& group, Run& run) {
  CLI::App* command = group.add_subcommand(
      "explain",
      "Say what the gateway would make of a request: route, key, tenant, fingerprint and rules; "
      "nothing is executed or stored");
  auto options = std::make_shared<ExplainOptions>();
  add_config_file(*command, options->file, "The configuration file")->required();
  command->add_option("METHOD", options->method, "The request's method, like POST")->required();
  command->add_option("TARGET", options->target, "Its path and query, like /v1/charges?a=b")
      ->required();
  command->add_option("-H,--header", options->headers, "A header of the request: 'Name: value'")
      ->allow_extra_args(false);
  command->add_option("-d,--data", options->body, "Its body; @FILE to read it from a file");
  command
      ->add_option("--tenant", options->tenant, "Assume this tenant, whatever the request proves")
      ->type_name("NAME");
  command->add_flag("--trusted-proxy", options->from_trusted_proxy,
                    "The request comes from one of trusted_proxies");
  command->add_flag("--json", options->as_json, "Print JSON");
  command->footer(
      "Exit codes: 0 explained, also if the gateway would refuse the request; 2 bad command line "
      "or "
      "configuration.");
  command->callback([&run, options] { run = [options] { return explain_config(*options); }; });
}

}  // namespace semel::cli
