#include "execution/answer/reauthorize.h"

#include <algorithm>

namespace semel::execution {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr auto kTimeout = std::chrono::seconds(2);

// Fields that a client may get from the service that was asked, besides its status and body.
constexpr std::string_view kPassedOn[] = {"Content-Type", "WWW-Authenticate"};

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

http::Client::Request question(const ClientRequest& request, const Viewing& viewing) {
  http::Client::Request ask;
  for (const http::Field& field : request.message.fields()) {
    if (http::iequals(field.name, "Authorization") || http::iequals(field.name, "Cookie")) {
      ask.headers.push_back({std::string(field.name), std::string(field.value)});
    }
  }
  ask.headers.push_back({"X-Original-Method", std::string(request.message.method())});
  ask.headers.push_back({"X-Original-URI", request.target.origin});
  ask.headers.push_back({"Semel-Record", viewing.record.hex()});
  // A tenant from a certificate or claim may hold any character; a header must not.
  if (!viewing.tenant.empty() && is_printable(viewing.tenant)) {
    ask.headers.push_back({"Semel-Tenant", viewing.tenant});
  }
  return ask;
}

}  // namespace

awaitable<bool> may_see(ClientRequest& request, const runtime::Route& route, Viewing viewing) {
  if (!route->reauthorize) co_return true;
  http::Client::Request ask = question(request, viewing);
  ask.target = route->reauthorize->target;
  http::Client client = request.worker.client_to(*route->reauthorize);
  auto answered = co_await client.ask(std::move(ask), kTimeout);
  if (answered && answered->status >= 200 && answered->status < 300) co_return true;

  count_result(request, route, telemetry::RequestResult::refused);
  if (answered && (answered->status == 401 || answered->status == 403)) {
    Answer answer;
    answer.status = answered->status;
    for (const std::string_view name : kPassedOn) {
      if (const auto value = answered->header(name)) {
        answer.headers.push_back({std::string(name), std::string(*value)});
      }
    }
    answer.body = std::move(answered->body);
    co_await send_answer(request, answer, {});
    co_return false;
  }
  telemetry::log_event(
      config::LogLevel::warn, "reauthorize failed",
      {{"route", route->name},
       {"why", answered ? "status " + std::to_string(answered->status) : answered.error()}});
  core::Problem problem{
      .code = core::Code::authorization_unavailable,
      .detail =
          "It could not be checked whether you may see the recorded answer. Nothing "
          "was executed. Retry with the same key."};
  co_await send_problem(request, problem, &route.config());
  co_return false;
}

}  // namespace semel::execution
