#include "cli/admin_client.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <filesystem>

#include "admin/tokens.h"
#include "cli/load_config.h"
#include "gateway/config_values.h"

namespace semel::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace json = boost::json;

constexpr auto kConnectTimeout = std::chrono::seconds(5);
constexpr auto kTimeout = std::chrono::minutes(2);
constexpr std::size_t kAnswerBytesMax = 64 * 1024 * 1024;

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

asio::awaitable<Response> exchange(std::string host, std::string port, Request request) {
  auto executor = co_await asio::this_coro::executor;
  asio::ip::tcp::resolver resolver(executor);
  beast::tcp_stream stream(executor);
  const auto found = co_await resolver.async_resolve(host, port, asio::use_awaitable);
  stream.expires_after(kConnectTimeout);
  co_await stream.async_connect(found, asio::use_awaitable);
  stream.expires_after(kTimeout);
  co_await http::async_write(stream, request, asio::use_awaitable);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kAnswerBytesMax);
  co_await http::async_read(stream, buffer, parser, asio::use_awaitable);
  co_return parser.release();
}

// The token that a gateway with this configuration takes, if it can be read.
std::optional<std::string> configured_token(const Config& config) {
  const bool generated = config.admin.tokens_file.empty();
  if (generated && config.store.kind != StoreKind::embedded) return std::nullopt;
  auto token = token_to_send(generated ? generated_tokens_file(config.store.path)
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
    const auto url = config_file::parse_upstream(options.url);
    if (!url) return std::unexpected("--admin: '" + options.url + "' " + url.error());
    client.host_ = url->address.host;
    client.port_ = url->address.port;
  }
  if (!options.token_file.empty()) {
    auto token = token_to_send(options.token_file);
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
  const bool v6 = host_.find(':') != std::string::npos;
  Request request(changes ? http::verb::post : http::verb::get, target, 11);
  request.set(http::field::host,
              fmt::format("{}{}{}:{}", v6 ? "[" : "", host_, v6 ? "]" : "", port_));
  request.set(http::field::connection, "close");
  if (token_) request.set(http::field::authorization, "Bearer " + *token_);
  if (changes) {
    request.set(http::field::content_type, "application/json");
    request.body() = body;
  }
  request.prepare_payload();

  asio::io_context context;
  std::expected<AdminReply, std::string> reply;
  asio::co_spawn(context, exchange(host_, std::to_string(port_), std::move(request)),
                 [&](std::exception_ptr failed, Response response) {
                   try {
                     if (failed) std::rethrow_exception(failed);
                   } catch (const std::exception& error) {
                     reply =
                         std::unexpected(fmt::format("no answer from the admin listener at "
                                                     "{}:{}: {}",
                                                     host_, port_, error.what()));
                     return;
                   }
                   boost::system::error_code not_json;
                   reply->status = static_cast<int>(response.result_int());
                   reply->body = json::parse(response.body(), not_json);
                   if (not_json) reply->body = nullptr;
                 });
  context.run();
  return reply;
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out.push_back(c);
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace semel::cli
