#include "admin/access/access.h"

#include <boost/asio/ip/address.hpp>

#include "admin/admin_answer.h"
#include "admin/console/console.h"
#include "config/reading/values.h"
#include "server/api_listener.h"
#include "telemetry/log.h"

namespace semel::admin {
namespace asio = boost::asio;
namespace {

// The console contains no data, and has to be there before a browser can send a token.
bool is_free_for_all(std::string_view path) {
  return path == "/healthz" || path == "/readyz" || is_console_path(path);
}

std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string_view::npos ? std::string_view{} : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

bool is_own_name(std::string_view name, const std::string& listen_host) {
  if (http::iequals(name, "localhost")) return true;
  boost::system::error_code error;
  const auto address = asio::ip::make_address(std::string(name), error);
  if (error) return false;
  return address.is_loopback() || address == asio::ip::make_address(listen_host);
}

Answer unauthorized(std::string detail) {
  Answer answer = problem_answer(401, "token-required", std::move(detail));
  answer.headers.push_back({"WWW-Authenticate", "Bearer realm=\"semel\""});
  return answer;
}

std::expected<AdminTokens, std::string> open_tokens(const config::Config& config,
                                                    TokenSource& random) {
  if (!config.admin.tokens_file.empty()) {
    auto tokens = AdminTokens::load(config.admin.tokens_file);
    if (!tokens) return std::unexpected("admin.tokens_file " + tokens.error());
    return tokens;
  }
  if (config.store.kind != stores::StoreKind::embedded) return AdminTokens{};
  return AdminTokens::load_or_make(generated_tokens_file(config.store.path), random);
}

}  // namespace

std::expected<AdminAccess, std::string> AdminAccess::open(const config::Config& config,
                                                          TokenSource& random) {
  auto tokens = open_tokens(config, random);
  if (!tokens) return std::unexpected(tokens.error());
  return AdminAccess(*std::move(tokens), config.admin.listen);
}

AdminAccess::AdminAccess(AdminTokens tokens, config::HostPort listen)
    : tokens_(std::move(tokens)),
      host_(std::move(listen.host)),
      loopback_(config::reading::is_loopback(host_)) {}

std::optional<Answer> AdminAccess::refuse(const http::Request& request,
                                          std::string_view path) const {
  if (loopback_) {
    const bool named = request.count("Host") == 1;
    if (named && is_own_name(without_port(*request.field("Host")), host_)) return std::nullopt;
    return problem_answer(421, "host-unknown",
                          "This listener answers only to names of this machine.");
  }
  if (is_free_for_all(path)) return std::nullopt;
  auto who = operator_of(request);
  if (!who) return std::move(who.error());
  return std::nullopt;
}

std::expected<std::string, Answer> AdminAccess::operator_of(const http::Request& request) const {
  if (tokens_.empty()) {
    return std::unexpected(
        problem_answer(403, "no-tokens",
                       "Nothing can be changed, because there are no tokens: one is generated only "
                       "with the embedded store. Set admin.tokens_file."));
  }
  if (!request.field("Authorization")) {
    return std::unexpected(unauthorized("Send a named token: Authorization: Bearer TOKEN."));
  }
  auto name = name_of(request);
  if (!name) return std::unexpected(unauthorized("This gateway does not know the token."));
  return *std::move(name);
}

std::optional<std::string> AdminAccess::name_of(const http::Request& request) const {
  const auto token = server::bearer_of(request);
  return token ? tokens_.name_of(*token) : std::nullopt;
}

}  // namespace semel::admin
