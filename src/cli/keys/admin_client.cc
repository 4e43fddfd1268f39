#include "cli/keys/admin_client.h"

#include <fmt/format.h>

#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <filesystem>

#include "admin/tokens.h"
#include "cli/http_client.h"
#include "cli/load_config.h"
#include "config/reading/values.h"

namespace semel::cli {
namespace {

namespace beast_http = boost::beast::http;
namespace json = boost::json;

constexpr auto kTimeout = std::chrono::minutes(2);

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
  if (!options.config.empty()) {
    const auto config = load_config(options.config);
    if (!config) return std::unexpected("the configuration cannot be used");
    client.host_ = config->admin.listen.host;
    client.port_ = config->admin.listen.port;
    client.token_ = configured_token(*config);
  }
  if (!options.url.empty()) {
    const auto url = config::reading::parse_upstream(options.url);
    if (!url) return std::unexpected("--admin: '" + options.url + "' " + url.error());
    client.host_ = url->address.host;
    client.port_ = url->address.port;
  }
  if (!options.token_file.empty()) {
    auto token = admin::token_to_send(options.token_file);
    if (!token) return std::unexpected("--token-file: " + token.error());
    client.token_ = *std::move(token);
  }
  return client;
}

std::expected<AdminReply, std::string> AdminClient::get(const std::string& target) const {
  return ask(false, target, "");
}

std::expected<AdminReply, std::string> AdminClient::post(const std::string& target,
                                                         const json::value& body) const {
  return ask(true, target, json::serialize(body));
}

std::expected<AdminReply, std::string> AdminClient::ask(bool changes, const std::string& target,
                                                        const std::string& body) const {
  HttpRequest request(changes ? beast_http::verb::post : beast_http::verb::get, target, 11);
  if (token_) request.set(beast_http::field::authorization, "Bearer " + *token_);
  if (changes) {
    request.set(beast_http::field::content_type, "application/json");
    request.body() = body;
  }
  const auto answer = HttpClient(host_, port_, kTimeout).ask(std::move(request));
  if (!answer) {
    return std::unexpected(
        fmt::format("no answer from the admin listener at {}:{}: {}\nIs the gateway running there? "
                    "Say where it is with --config FILE or --admin URL; see semel keys ls --help.",
                    host_, port_, answer.error()));
  }
  AdminReply reply{static_cast<int>(answer->result_int()), nullptr};
  boost::system::error_code not_json;
  reply.body = json::parse(answer->body(), not_json);
  if (not_json) reply.body = nullptr;
  return reply;
}

}  // namespace semel::cli
