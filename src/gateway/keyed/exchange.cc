// Takes a keyed request from its arrival up to the question to the engine: key, tenant, body,
// fingerprint.
#include "gateway/keyed/exchange.h"

#include <algorithm>
#include <stdexcept>

#include "core/fingerprint/canonical_json.h"
#include "core/fingerprint/content_digest.h"
#include "core/record_bytes.h"
#include "execution/answer/body_pace.h"
#include "execution/answer/replay.h"
#include "execution/call.h"
#include "execution/operation_name.h"
#include "execution/queued_request.h"
#include "gateway/keyed/exchange_impl.h"
#include "gateway/keyed/webhook_delivery.h"

namespace semel::gateway {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// Number of copies of a queued request in memory until it is durable: encoded, in the claim, in the
// record, in the store's batch.
constexpr std::size_t kQueuedCopies = 4;

// Smaller bodies are not counted for their tenant.
constexpr std::size_t kOwnedAboveBytes = 16 * 1024;

bool is_keyed_method(const config::RouteConfig& route, std::string_view method) {
  return std::ranges::find(route.methods, method) != route.methods.end();
}

}  // namespace

awaitable<void> Exchange::run() {
  auto refused = find_key();
  if (!refused && !config_.webhook) {
    std::optional<Caller> caller = find_caller(request_);
    if (!caller) caller = co_await ask_caller(request_);
    refused = take_tenant(*std::move(caller));
  }
  // Checked before the body is read: without a signature no body is kept.
  if (!refused && config_.webhook) refused = check_delivery_head(request_, config_);
  if (!refused) refused = prepare_body();
  if (refused) {
    co_await refuse(*std::move(refused));
    co_return;
  }
  if (!co_await read_body()) co_return;
  if ((refused = compare_digest())) {
    co_await refuse(*std::move(refused));
    co_return;
  }
  // Taken only now, so that a body that trickles in does not keep others out.
  if (!execution::take_slot(request_)) {
    co_await execution::refuse_slot(request_, route_);
    co_return;
  }
  if (config_.webhook && !co_await verify_event()) co_return;
  if (body_->is_spooled() || !recipe_.hash_key_id.empty()) {
    if (!co_await take_fingerprint()) co_return;
  } else {
    fingerprint_ = make_fingerprint(recipe_, view());
  }
  if (!key_ && !co_await find_key_after_body()) co_return;
  // The most common case: a retry of a request that is done.
  if (!config_.webhook) {
    const auto recorded = services_.engine.recorded(make_id(scope(), *key_), recipe_, fingerprint_,
                                                    config_.operation);
    if (recorded) {
      co_await replay(*recorded);
      co_return;
    }
  }
  if (!co_await find_preference()) co_return;
  Admission admission = co_await admit();
  co_await answer(std::move(admission));
}

// Finds out whether the client wants to be answered at once and the work done later. A request with
// a body too large to be kept is executed now: a preference need not be heeded.
awaitable<bool> Exchange::find_preference() {
  if (config_.webhook) {
    if (config_.webhook->mode != config::WebhookMode::queue) co_return true;
  } else {
    if (config_.in_progress != config::InProgress::accept) co_return true;
    preferences_ = http::read_preferences(request_.message.fields());
    if (!preferences_.respond_async || body_->size() > config::kQueuedBodyBytesMax) co_return true;
  }
  auto slot = services_.background->reserve(
      tenant_, scope().operation, request_.peer ? request_.peer->shared_from_this() : nullptr);
  if (!slot) {
    co_await refuse(
        {.code = core::Code::overloaded,
         .detail =
             "Too much work is queued already. Nothing was queued. Retry with the same key."});
    co_return false;
  }
  if (!hold(body_->memory_bytes() + kQueuedCopies * body_->size())) {
    co_await refuse({.code = core::Code::overloaded,
                     .detail = "Too many request bodies are being held. Retry with the same key."});
    co_return false;
  }
  auto body = co_await body_->read(0, config::kQueuedBodyBytesMax);
  if (!body) {
    co_await cannot_keep(std::move(body.error()));
    co_return false;
  }
  const execution::RequestHead head = request_.head();
  const execution::PassedOn passed_on(head.fields, request_.settings->config.tenant, config_);
  to_be_queued_ = execution::encode(execution::to_queue(
      head, passed_on, config_.name, preferences_.others, key_in_header_, *key_, std::move(*body)));
  slot_.emplace(std::move(*slot));
  co_return true;
}

awaitable<void> Exchange::refuse(core::Problem problem) {
  count(telemetry::RequestResult::refused);
  name_record(problem);
  co_await execution::send_problem(request_, problem, &config_);
}

awaitable<void> Exchange::send_about_key(core::Problem problem) {
  name_record(problem);
  co_await execution::send_problem(request_, problem, &config_, execution::echo(*key_));
}

void Exchange::name_record(core::Problem& problem) const {
  if (!problem.record.empty() || !key_ || !has_tenant_) return;
  problem.record = core::shown_id(decision_.record.value_or(make_id(scope(), *key_)));
}

std::optional<core::Problem> Exchange::find_key() {
  if (config_.webhook) {
    tenant_ = config::kWebhookTenant;  // the key is in the event, which has to be verified first
    has_tenant_ = true;
    return std::nullopt;
  }
  FoundKey found = key_from_headers(config_.key, request_.message);
  if (auto* bad = std::get_if<found_key::Bad>(&found)) {
    return core::Problem{
        .code = core::Code::key_invalid, .detail = std::move(bad->why), .new_key_safe = true};
  }
  if (auto* key = std::get_if<found_key::Key>(&found)) {
    key_ = std::move(key->key);
    key_in_header_ = true;
  }
  if (!key_ && config_.key.from == config::KeySource::header) {
    return core::Problem{.code = core::Code::key_missing,
                         .detail = "Send a unique key for this operation in the header " +
                                   config_.key.header +
                                   ", and the same key with every retry of it.",
                         .new_key_safe = true};
  }
  return std::nullopt;
}

std::optional<core::Problem> Exchange::take_tenant(Caller caller) {
  if (!caller) return std::move(caller.error());
  tenant_ = *std::move(caller);
  has_tenant_ = true;
  return std::nullopt;
}

std::optional<core::Problem> Exchange::prepare_body() {
  std::optional<core::ContentDigest> promised;
  if (config_.fingerprint.body == config::BodyFingerprint::digest) {
    auto parsed = core::ContentDigest::parse(joined_field("Content-Digest").value_or(""));
    if (!parsed) {
      request_.keep_alive = false;
      return core::Problem{.detail = std::move(parsed.error()), .new_key_safe = true};
    }
    promised = std::move(*parsed);
  }
  // Some executors go by the first of them, others by the last.
  if (request_.message.count("Content-Type") > 1) {
    request_.keep_alive = false;
    return core::Problem{.detail = "Send one Content-Type header, not several.",
                         .new_key_safe = true};
  }
  std::string content_type(request_.message.field("Content-Type").value_or(""));
  recipe_ = execution::recipe_of(config_.fingerprint, request_.settings->key_material.hash_keys,
                                 content_type, promised.has_value());
  body_.emplace(services_.spool, recipe_, std::move(content_type), std::move(promised));
  return std::nullopt;
}

std::optional<core::Problem> Exchange::compare_digest() {
  if (body_->keeps_promise()) return std::nullopt;
  return core::Problem{.detail =
                           "The body does not match Content-Digest: it was changed or cut off in "
                           "transit. Nothing was executed.",
                       .new_key_safe = true};
}

awaitable<bool> Exchange::refuse_size() {
  request_.keep_alive = false;
  co_await refuse({.code = core::Code::body_too_large,
                   .detail = "The body of a request with a key may have at most " +
                             std::to_string(config_.max_request_body) + " bytes here.",
                   .new_key_safe = true});
  co_return false;
}

awaitable<bool> Exchange::read_body() {
  const auto length = request_.message.body_length();
  if (length && *length > config_.max_request_body) co_return co_await refuse_size();
  if (length && *length > runtime::kSpooledAboveBytes) {
    if (const auto room = services_.spool.has_room_for(*length); !room) {
      co_await cannot_keep(room.error());
      co_return false;
    }
  }
  if (execution::expects_continue(request_)) co_await execution::send_continue(request_);
  const http::Deadlines& clock = request_.worker.deadlines();
  const execution::BodyPace pace(request_.limits().body_timeout, clock.now());
  while (!request_.message.is_done()) {
    auto piece = request_.client.buffered_piece(request_.message);
    if (piece && piece->empty() && !request_.message.is_done()) {
      request_.client.set_deadline(pace.next(body_->size(), clock.now()));
      piece = co_await request_.client.read_piece(request_.message);
    }
    if (!piece) {
      request_.keep_alive = false;
      if (piece.error() == http::IoError::timeout) {
        co_await refuse({.status = 408,
                         .detail = "The request's body did not arrive in time.",
                         .new_key_safe = false});
      } else if (piece.error() == http::IoError::malformed) {
        co_await refuse({.detail = "The request's body is malformed.", .new_key_safe = false});
      } else {
        decision_.result.reset();  // the client has gone
      }
      co_return false;
    }
    if (body_->size() + piece->size() > config_.max_request_body) co_return co_await refuse_size();
    if (!body_->append_in_memory(*piece)) {
      const auto kept = co_await body_->append(*piece);
      if (!kept) {
        co_await cannot_keep(kept.error());
        co_return false;
      }
    }
    if (!hold(body_->memory_bytes())) {
      if (body_->is_spooled()) services_.spool.count_refused();
      request_.keep_alive = false;
      co_await refuse(
          {.code = core::Code::overloaded,
           .detail = "Too many request bodies are being held. Retry with the same key."});
      co_return false;
    }
  }
  request_.client.clear_deadline();
  const auto kept = co_await body_->end();
  if (!kept) {
    co_await cannot_keep(kept.error());
    co_return false;
  }
  hold(body_->memory_bytes());
  co_return true;
}

// Looks up the tenant for larger bodies only: small ones cannot hold much, and the lookup would
// cost every request.
bool Exchange::hold(std::size_t memory_bytes) {
  const bool has_tenant = !tenant_.empty() && !config_.webhook;
  if (has_tenant && memory_bytes > kOwnedAboveBytes && !held_bytes_.has_tenant()) {
    runtime::ShareHolderPtr tenant = services_.holders.of_tenant(tenant_);
    held_bytes_.belong_to(tenant);
    spooled_bytes_.belong_to(std::move(tenant));
  }
  const bool in_memory = held_bytes_.recount(memory_bytes, runtime::kBufferedBytesMax);
  const bool in_file = spooled_bytes_.recount(body_->is_spooled() ? body_->size() : 0,
                                              request_.settings->config.spool.bytes_max);
  return in_memory && in_file;
}

// Refuses a request because the spool or the disk is full or broken, or the spool's folder is gone.
awaitable<void> Exchange::cannot_keep(std::string why) {
  telemetry::log_repeating(config::LogLevel::error, "request body not kept", config_.name,
                           {{"route", config_.name}, {"why", why}});
  request_.keep_alive = false;
  co_await refuse({.code = core::Code::overloaded,
                   .detail = "The request's body could not be stored, so nothing was executed. "
                             "Retry with the same key."});
}

// Verifies the event before anything is kept of it, or asked about it.
awaitable<bool> Exchange::verify_event() {
  auto key = co_await verify_delivery(request_, config_, *body_);
  if (!key) {
    co_await refuse(std::move(key.error()));
    co_return false;
  }
  key_ = *std::move(key);
  co_return true;
}

awaitable<bool> Exchange::take_fingerprint() {
  std::string why;
  try {
    fingerprint_ = co_await fingerprint_under(recipe_);
    co_return true;
  } catch (const std::runtime_error& error) {
    why = error.what();
  }
  co_await cannot_keep(std::move(why));
  co_return false;
}

// A record says which key made its fingerprint. Without that key nothing can be said about the
// request, and it is not executed. A body in a file is read by the spool's threads.
awaitable<Fingerprint> Exchange::fingerprint_under(Recipe recipe) const {
  Fingerprint plain;
  if (body_->is_spooled()) {
    auto make = [this, &recipe] { return make_fingerprint(recipe, view()); };
    plain = co_await services_.spool.pool().run(make);
  } else {
    plain = make_fingerprint(recipe, view());
  }
  co_return execution::fingerprint_under_key(std::move(plain), recipe,
                                             request_.settings->key_material.hash_keys);
}

awaitable<FoundKey> Exchange::find_key_in_body() const {
  const std::string encoding = joined_field("Content-Encoding").value_or("");
  if (!body_->is_spooled()) co_return key_from_body(config_.key, encoding, body_->text());
  if (body_->size() > core::kJsonTextBytesMax) {
    co_return found_key::Bad{
        "The body is too large to find a key in it; send the key in the header " +
        config_.key.header + "."};
  }
  auto find = [this, &encoding]() -> std::expected<FoundKey, std::string> {
    try {
      return key_from_body(config_.key, encoding, body_->read_now(0, core::kJsonTextBytesMax));
    } catch (const std::runtime_error& error) {
      return std::unexpected(error.what());
    }
  };
  auto found = co_await services_.spool.pool().run(find);
  if (!found) {
    telemetry::log_event(config::LogLevel::error, "request body lost", {{"why", found.error()}});
    co_return found_key::Bad{"The key could not be read from the body."};
  }
  co_return std::move(*found);
}

awaitable<bool> Exchange::find_key_after_body() {
  if (config_.key.from == config::KeySource::fingerprint) {
    key_ = RecordId{fingerprint_.digest}.hex();
    co_return true;
  }
  FoundKey found = co_await find_key_in_body();
  if (auto* bad = std::get_if<found_key::Bad>(&found)) {
    co_await refuse(
        {.code = core::Code::key_invalid, .detail = std::move(bad->why), .new_key_safe = true});
    co_return false;
  }
  if (auto* key = std::get_if<found_key::Key>(&found)) {
    key_ = std::move(key->key);
    co_return true;
  }
  if (config_.key.required) {
    co_await refuse({.code = core::Code::key_missing,
                     .detail = "Send a unique key for this operation at " + config_.key.pointer +
                               " in the body, and the same key with every retry of it.",
                     .new_key_safe = true});
    co_return false;
  }
  decision_.result.reset();
  const execution::UnkeyedRequest unkeyed{request_, route_, *body_};
  co_await execution::execute_unkeyed(unkeyed, {});
  co_return false;
}

std::optional<std::string> Exchange::joined_field(std::string_view name) const {
  std::optional<std::string> joined;
  for (const http::Field& field : request_.message.fields()) {
    if (!http::iequals(field.name, name)) continue;
    if (joined) *joined += ", ";
    joined = joined.value_or("") + std::string(field.value);
  }
  return joined;
}

RequestView Exchange::view() const {
  RequestView view;
  if (config_.webhook) return view;  // an event is identified by its key, however it came
  view.method = request_.message.method();
  view.path = request_.target.path;
  view.query = request_.target.query;
  view.content_type = request_.message.field("Content-Type").value_or("");
  view.body_digest = [this](const Recipe& recipe) { return body_->digest_under(recipe); };
  view.header = [this](std::string_view name) { return joined_field(name); };
  return view;
}

void Exchange::log() const {
  telemetry::Trace& trace = request_.trace;
  if (trace && decision_.record) trace.set("semel.record", decision_.record->hex());
  if (trace && decision_.attempt > 0) trace.set("semel.attempt", decision_.attempt);
  log_decision(request_, config_, tenant_, key_ ? std::string_view(*key_) : "", decision_);
}

bool is_keyed(const http::Request& message, const config::RouteConfig& route) {
  if (!is_keyed_method(route, message.method())) return false;
  return route.key.required || route.key.from != config::KeySource::header ||
         has_key_header(route.key, message);
}

bool evades_key(const http::Request& message, const config::RouteConfig& route) {
  const std::string_view method = message.method();
  return !is_keyed_method(route, method) &&
         std::ranges::any_of(route.methods,
                             [&](const std::string& one) { return http::iequals(one, method); });
}

awaitable<void> exchange(execution::ClientRequest& request, const runtime::Route& route) {
  Exchange exchange(request, route);
  co_await exchange.run();
  exchange.log();
}

}  // namespace semel::gateway
