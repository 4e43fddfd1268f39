#include "cli/admin/client.h"

#include <fmt/format.h>

#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <cstdio>

#include "admin/access/tokens.h"
#include "cli/http_client.h"
#include "cli/load_config.h"
#include "config/reading/values.h"

namespace semel::cli {
namespace {

namespace beast_http = boost::beast::http;
namespace json = boost::json;

// Returns the token that a gateway with this configuration takes, if it can be read.
std::optional<std::string> configured_token(const config::Config& config) {
  const bool generated = config.admin.tokens_file.empty();
  if (generated && config.store.kind != stores::StoreKind::embedded) return std::nullopt;
  auto token = admin::token_to_send(generated ? admin::generated_tokens_file(config.store.path)
                                              : config.admin.tokens_file);
  if (!token) return std::nullopt;
  return *std::move(token);
}

}  // namespace

std::expected<AdminClient, std::string> AdminClient::open(const AdminOptions& options) {
  AdminClient client;
  client.timeout_ = options.timeout;
  if (!options.config.empty()) {
    auto config = load_config(options.config);
    if (!config) return std::unexpected("the configuration cannot be used");
    client.host_ = config->admin.listen.host;
    client.port_ = config->admin.listen.port;
    client.token_ = configured_token(*config);
    client.config_ = std::move(config);
  }
  if (!options.url.empty()) {
    const auto url = config::reading::parse_upstream(options.url);
    if (!url) return std::unexpected("--admin: '" + options.url + "' " + url.error());
    client.host_ = url->address.host;
    client.port_ = url->address.port;
    client.config_.reset();  // a gateway was named, and nothing else is meant
  }
  if (!options.token_file.empty()) {
    auto token = admin::token_to_send(options.token_file);
    if (!token) return std::unexpected("--token-file: " + token.error());
    client.token_ = *std::move(token);
  }
  return client;
}

std::expected<AdminReply, std::string> AdminClient::get(const std::string& target) {
  return ask(false, target, "");
}

std::expected<AdminReply, std::string> AdminClient::post(const std::string& target,
                                                         const json::value& body) {
  return ask(true, target, json::serialize(body));
}

std::expected<AdminReply, std::string> AdminClient::ask(bool changes, const std::string& target,
                                                        const std::string& body) {
  if (local_) return local_->ask(changes, target, body);
  HttpRequest request(changes ? beast_http::verb::post : beast_http::verb::get, target, 11);
  if (token_) request.set(beast_http::field::authorization, "Bearer " + *token_);
  if (changes) {
    request.set(beast_http::field::content_type, "application/json");
    request.body() = body;
  }
  const auto answer = HttpClient(host_, port_, timeout_).ask(std::move(request));
  if (!answer) {
    const std::string why = fmt::format("no answer from the admin listener at {}:{}: {}", host_,
                                        port_, answer.error().why);
    const bool may_turn = !answer.error().connected && config_ && LocalAdmin::serves(target);
    if (!may_turn) {
      return std::unexpected(
          why +
          "\nIs the gateway running there? Say where it is with --config FILE or --admin URL; "
          "see --help.");
    }
    if (auto turned = turn_to_store(why); !turned) return std::unexpected(turned.error());
    return local_->ask(changes, target, body);
  }
  AdminReply reply{static_cast<int>(answer->result_int()), nullptr};
  boost::system::error_code not_json;
  reply.body = json::parse(answer->body(), not_json);
  if (not_json) reply.body = nullptr;
  return reply;
}

std::expected<void, std::string> AdminClient::turn_to_store(const std::string& why_not_gateway) {
  auto local = LocalAdmin::open(*config_, token_.has_value());
  if (!local) {
    return std::unexpected(fmt::format("{}\nThe store itself cannot be used either: {}",
                                       why_not_gateway, local.error()));
  }
  local_ = *std::move(local);
  fmt::print(stderr, "No gateway answers at {}:{}; using {} directly.\n", host_, port_,
             local_->described());
  return {};
}

}  // namespace semel::cli
