#include "gateway/keyed/webhook_delivery.h"

#include <algorithm>
#include <stdexcept>

#include "core/fingerprint/canonical_json.h"
#include "execution/answer/replay.h"
#include "gateway/keyed/request_key.h"

namespace semel::gateway {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;

using Verified = std::expected<std::string, core::Problem>;

std::unexpected<core::Problem> refused(core::Code code, std::string detail) {
  return std::unexpected(
      core::Problem{.code = code, .detail = std::move(detail), .new_key_safe = true});
}

void tell_of(const core::Problem& problem, const execution::ClientRequest& request,
             const config::RouteConfig& route) {
  if (problem.code != core::Code::signature_invalid) return;
  // Anybody can send such deliveries: one line per delivery would let them fill the log.
  telemetry::log_repeating(
      config::LogLevel::warn, "signature invalid", route.name,
      {{"route", route.name}, {"peer", request.forwarded.peer_address}, {"why", problem.detail}});
}

std::vector<std::string> header_values(const http::Request& message, std::string_view name) {
  std::vector<std::string> values;
  for (const http::Field& field : message.fields()) {
    if (http::iequals(field.name, name)) values.emplace_back(field.value);
  }
  return values;
}

// Gives access to the parts of one delivery. Lives while the request does.
struct Delivery {
  const config::RouteConfig& route;
  const http::Request& message;
  const runtime::RequestBody& body;

  std::vector<std::string> headers(std::string_view name) const {
    return header_values(message, name);
  }
  void give_body(const std::function<void(std::string_view)>& take) const {
    if (!body.is_spooled()) {
      take(body.text());
      return;
    }
    for (std::uint64_t at = 0; at < body.size(); at += kPieceBytes) {
      take(body.read_now(at, kPieceBytes));
    }
  }
};

Verified checked(std::string_view text, const KeyRules& rules) {
  auto key = check_key(text, rules);
  if (!key) return refused(core::Code::key_invalid, "The event's id: " + key.error());
  return *std::move(key);
}

Verified key_of_body(const Delivery& delivery) {
  const auth::WebhookScheme& scheme = delivery.route.webhook->scheme;
  Recipe raw;
  raw.body = BodyRecipe::raw;
  std::string key = "sha256:" + RecordId{delivery.body.digest_under(raw)}.hex();
  if (!scheme.kind_header.empty()) {
    const std::vector<std::string> sent = delivery.headers(scheme.kind_header);
    if (sent.size() > 1) {
      return refused(core::Code::key_invalid,
                     "The header " + scheme.kind_header + " was sent more than once.");
    }
    const std::vector<std::string>& kinds = delivery.route.webhook->kinds;
    if (!sent.empty() && std::ranges::find(kinds, sent.front()) != kinds.end()) {
      key += ":" + sent.front();
    }
  }
  return checked(key, delivery.route.key.rules);
}

Verified id_in_body(const Delivery& delivery) {
  const runtime::RequestBody& body = delivery.body;
  const auth::WebhookScheme& scheme = delivery.route.webhook->scheme;
  FoundKey found = found_key::None{};
  std::string encoding;
  for (const std::string& value : delivery.headers("Content-Encoding")) encoding += value + ",";
  if (!body.is_spooled()) {
    found = key_from_body(delivery.route.key, encoding, body.text());
  } else if (body.size() <= core::kJsonTextBytesMax) {
    found = key_from_body(delivery.route.key, encoding, body.read_now(0, core::kJsonTextBytesMax));
  } else {
    found = found_key::Bad{"The body is too large to find the event's id in it."};
  }
  if (auto* key = std::get_if<found_key::Key>(&found)) return std::move(key->key);
  if (!scheme.needs_id) return key_of_body(delivery);
  if (auto* bad = std::get_if<found_key::Bad>(&found)) {
    return refused(core::Code::key_invalid, std::move(bad->why));
  }
  return refused(core::Code::key_missing, "The event has no id at " + scheme.id_pointer + ".");
}

// Runs on the spool's threads if the body is in a file; throws if that cannot be read.
Verified verify(const Delivery& delivery, Time now) {
  const config::WebhookConfig& webhook = *delivery.route.webhook;
  const auto headers = [&](std::string_view name) { return delivery.headers(name); };
  auto claim = auth::read_webhook_claim(webhook.scheme, headers, webhook.tolerance, now);
  if (!claim) return refused(core::Code::signature_invalid, std::move(claim.error()));
  const auto body = [&](const std::function<void(std::string_view)>& take) {
    delivery.give_body(take);
  };
  if (!auth::is_signed(*claim, webhook.secrets, body)) {
    return refused(core::Code::signature_invalid, "No signature matches this body.");
  }
  if (!webhook.scheme.id_pointer.empty()) return id_in_body(delivery);
  if (claim->id.empty() && webhook.scheme.needs_id) {
    return refused(core::Code::key_missing,
                   "The header " + webhook.scheme.id_headers.front() + " is missing.");
  }
  if (webhook.scheme.signs_id()) return checked(claim->id, delivery.route.key.rules);
  return key_of_body(delivery);
}

}  // namespace

awaitable<Verified> verify_delivery(const execution::ClientRequest& request,
                                    const config::RouteConfig& route,
                                    const runtime::RequestBody& body) {
  const Delivery delivery{route, request.message, body};
  const Time now = request.services().clock.now();
  auto work = [&delivery, now]() -> Verified {
    try {
      return verify(delivery, now);
    } catch (const std::runtime_error& error) {
      telemetry::log_event(config::LogLevel::error, "event not verified", {{"why", error.what()}});
      return std::unexpected(core::Problem{.code = core::Code::overloaded,
                                           .detail =
                                               "The event could not be verified, so nothing was "
                                               "done with it. Send it again."});
    }
  };
  Verified verified = std::string();
  if (body.is_spooled()) {
    verified = co_await request.services().spool.pool().run(work);
  } else {
    verified = work();
  }
  if (!verified) tell_of(verified.error(), request, route);
  co_return verified;
}

std::optional<core::Problem> check_delivery_head(const execution::ClientRequest& request,
                                                 const config::RouteConfig& route) {
  const config::WebhookConfig& webhook = *route.webhook;
  const auto headers = [&](std::string_view name) { return header_values(request.message, name); };
  const Time now = request.services().clock.now();
  auto claim = auth::read_webhook_claim(webhook.scheme, headers, webhook.tolerance, now);
  if (claim) return std::nullopt;
  core::Problem problem = refused(core::Code::signature_invalid, std::move(claim.error())).error();
  tell_of(problem, request, route);
  return problem;
}

awaitable<void> acknowledge(execution::ClientRequest& request, const config::RouteConfig& route,
                            std::string_view key, bool is_known) {
  Answer answer;
  answer.status = route.webhook->mode == config::WebhookMode::queue ? 202 : 200;
  std::vector<Header> extra = execution::echo(key);
  if (is_known) extra.push_back({route.replayed_header, "true"});
  co_await execution::send_answer(request, answer, extra);
}

}  // namespace semel::gateway
