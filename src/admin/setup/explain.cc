#include <boost/json/parse.hpp>

#include "admin/admin_answer.h"
#include "admin/key_filter.h"
#include "admin/record_json.h"
#include "admin/setup/setup_api.h"
#include "config/reading/values.h"
#include "gateway/explain.h"

namespace semel::admin {
namespace json = boost::json;
using boost::asio::awaitable;

namespace {

struct ExplainBody {
  std::string method;
  std::string target;
  std::vector<std::string> headers;
  gateway::ExplainedRequest request;
};

std::string text_in(const json::value& value) {
  const json::string& text = value.get_string();
  return {text.data(), text.size()};
}

std::optional<std::string> read_explained(std::string_view name, const json::value& value,
                                          ExplainBody& out) {
  if (name == "headers") {
    const auto* headers = value.if_object();
    if (!headers) return "headers: must be an object";
    for (const auto& header : *headers) {
      if (!header.value().is_string()) return "headers: the values must be strings";
      out.headers.push_back(std::string(header.key()) + ": " + text_in(header.value()));
    }
    return std::nullopt;
  }
  if (!value.is_string()) return std::string(name) + ": must be a string";
  if (name == "method") {
    out.method = text_in(value);
  } else if (name == "target") {
    out.target = text_in(value);
  } else if (name == "body") {
    out.request.body = text_in(value);
  } else if (name == "tenant") {
    out.request.tenant = text_in(value);
  } else {
    return config::reading::quote(name) +
           " is unknown; use method, target, headers, body or tenant";
  }
  return std::nullopt;
}

std::expected<gateway::ExplainedRequest, std::string> parse_explained(const std::string& body) {
  boost::system::error_code error;
  const json::value sent = json::parse(body, error);
  const auto* object = error ? nullptr : sent.if_object();
  if (!object) return std::unexpected("The body is not a JSON object.");
  ExplainBody read;
  for (const auto& member : *object) {
    const std::string_view name(member.key().data(), member.key().size());
    if (auto wrong = read_explained(name, member.value(), read)) return std::unexpected(*wrong);
  }
  if (read.method.empty()) return std::unexpected("method: required, like POST");
  if (read.target.empty()) return std::unexpected("target: required; a path, like /v1/charges");
  if (const auto wrong = gateway::make_message(read.method, read.target, read.headers,
                                               read.request.body.size(), read.request.message)) {
    return std::unexpected(*wrong);
  }
  return std::move(read.request);
}

}  // namespace

awaitable<Answer> SetupApi::explain(std::string body) {
  const auto request = parse_explained(body);
  if (!request) co_return problem_answer(400, "bad-request", request.error());
  const runtime::ActiveConfigPtr settings = process_.workers().front()->settings();
  const Time now = services_.clock.now();
  json::object out =
      gateway::explain_request(*request, settings->config, settings->key_material, now);
  out["now"] = nullptr;
  const auto* record = out.if_contains("record");
  const auto id = record ? parse_hex_id(text_in(*record)) : std::nullopt;
  if (id) {
    auto found = co_await services_.store.read(*id);
    if (!found) co_return store_unavailable(found.error());
    if (*found) out["now"] = record_summary(**found, now);
  }
  co_return json_answer(200, out);
}

}  // namespace semel::admin
