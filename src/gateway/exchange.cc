// A keyed request on its way through: key, tenant, body, fingerprint, and then what the engine
// says. Executing it is execution.cc's.
#include "gateway/exchange.h"

#include <algorithm>

#include "core/content_digest.h"
#include "gateway/caller.h"
#include "gateway/execution.h"
#include "gateway/operation.h"
#include "gateway/prober.h"
#include "gateway/reauthorize.h"
#include "gateway/replay.h"
#include "gateway/request_key.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t kWeakKeyBytes = 16;
// What is announced is not there yet: more than this is not reserved on a client's word.
constexpr std::uint64_t kReservedBytesMax = 64 * 1024;
constexpr auto kLookAgainAfter = std::chrono::milliseconds(100);

bool is_keyed_method(const RouteConfig& route, std::string_view method) {
  return std::ranges::find(route.methods, method) != route.methods.end();
}

class Exchange {
 public:
  Exchange(ClientRequest& request, std::size_t route)
      : request_(request),
        gateway_(request.gateway()),
        route_index_(route),
        route_(request.route(route)),
        held_bytes_(gateway_.buffered_bytes, 0) {}

  awaitable<void> run();

 private:
  awaitable<void> refuse(Problem problem);
  // False: the request has been answered.
  awaitable<bool> find_key_and_tenant();
  awaitable<bool> read_promised_digest();
  awaitable<bool> read_body();
  awaitable<bool> keep_promised_digest();
  awaitable<bool> find_key_after_body();
  void take_fingerprint();
  std::optional<std::string> joined_field(std::string_view name) const;
  RequestView view() const;
  Ask ask() const;

  awaitable<void> answer(Admission admission);
  awaitable<void> busy(admission::Busy busy);
  awaitable<void> outcome_unknown_of(Record record);
  awaitable<void> store_down(StoreUnavailable unavailable);
  void name_resource(Problem& problem, const Record& record) const;
  awaitable<void> run_claim(Claim claim);
  void count(RequestResult result) { request_.metrics(route_index_).count(result); }

  ClientRequest& request_;
  Gateway& gateway_;
  const std::size_t route_index_;
  const RouteConfig& route_;
  Counted held_bytes_;
  std::optional<std::string> key_;
  bool key_in_header_ = false;
  std::string tenant_;
  std::optional<ContentDigest> promised_;
  bool has_digest_ = false;
  std::string body_;
  Recipe recipe_;
  Fingerprint fingerprint_;
  bool probed_ = false;
  std::optional<std::chrono::steady_clock::time_point> wait_until_;
};

awaitable<void> Exchange::run() {
  if (!co_await find_key_and_tenant()) co_return;
  if (!co_await read_promised_digest()) co_return;
  if (!co_await read_body()) co_return;
  if (!co_await keep_promised_digest()) co_return;
  // Only now: a body that trickles in does not keep others out.
  if (!co_await take_place(request_, route_index_)) co_return;
  take_fingerprint();
  if (!co_await find_key_after_body()) co_return;
  Admission admission = co_await gateway_.engine.admit(ask());
  co_await answer(std::move(admission));
}

awaitable<void> Exchange::refuse(Problem problem) {
  count(RequestResult::refused);
  co_await send_problem(request_, problem, &route_);
}

awaitable<bool> Exchange::find_key_and_tenant() {
  FoundKey found = key_from_headers(route_.key, request_.message);
  if (auto* bad = std::get_if<found_key::Bad>(&found)) {
    co_await refuse(
        {.code = Code::key_invalid, .detail = std::move(bad->why), .new_key_safe = true});
    co_return false;
  }
  if (auto* key = std::get_if<found_key::Key>(&found)) {
    key_ = std::move(key->key);
    key_in_header_ = true;
  }
  if (!key_ && route_.key.from == KeySource::header) {
    co_await refuse({.code = Code::key_missing,
                     .detail = "Send a unique key for this operation in the header " +
                               route_.key.header + ", and the same key with every retry of it.",
                     .new_key_safe = true});
    co_return false;
  }
  std::optional<Caller> caller = find_caller(request_);
  if (!caller) caller = co_await ask_caller(request_);
  if (!*caller) {
    co_await refuse(std::move(caller->error()));
    co_return false;
  }
  tenant_ = **std::move(caller);
  co_return true;
}

// Where the route goes by the Content-Digest, it is read before the body and held against it.
awaitable<bool> Exchange::read_promised_digest() {
  if (route_.fingerprint.body != BodyFingerprint::digest) co_return true;
  const auto field = joined_field("Content-Digest");
  if (!field) co_return true;
  auto parsed = ContentDigest::parse(*field);
  if (!parsed) {
    request_.keep_alive = false;
    co_await refuse({.detail = std::move(parsed.error()), .new_key_safe = true});
    co_return false;
  }
  promised_ = std::move(*parsed);
  has_digest_ = promised_.has_value();
  co_return true;
}

awaitable<bool> Exchange::keep_promised_digest() {
  if (!promised_ || promised_->matches()) co_return true;
  co_await refuse({.detail =
                       "The body is not the one that Content-Digest speaks of: it was changed "
                       "or cut on its way. Nothing was executed.",
                   .new_key_safe = true});
  co_return false;
}

awaitable<bool> Exchange::read_body() {
  const Problem too_large{.code = Code::body_too_large,
                          .detail = "The body of a request with a key may have at most " +
                                    std::to_string(route_.max_request_body) + " bytes here.",
                          .new_key_safe = true};
  const auto length = request_.message.body_length();
  if (length && *length > route_.max_request_body) {
    request_.keep_alive = false;
    co_await refuse(too_large);
    co_return false;
  }
  co_await send_continue(request_);
  if (length) body_.reserve(std::min<std::uint64_t>(*length, kReservedBytesMax));
  while (!request_.message.is_done()) {
    request_.client.set_deadline(request_.limits().body_timeout);
    const auto piece = co_await request_.client.read_piece(request_.message);
    if (!piece) {
      request_.keep_alive = false;
      if (piece.error() == net::IoError::timeout) {
        co_await refuse({.status = 408,
                         .detail = "The request's body did not arrive in time.",
                         .new_key_safe = false});
      } else if (piece.error() == net::IoError::malformed) {
        co_await refuse({.detail = "The request's body is malformed.", .new_key_safe = false});
      }
      co_return false;
    }
    body_ += *piece;
    if (promised_) promised_->update(*piece);
    held_bytes_.grow(piece->size());
    if (body_.size() > route_.max_request_body) {
      request_.keep_alive = false;
      co_await refuse(too_large);
      co_return false;
    }
    if (held_bytes_.before() > kBufferedBytesMax) {
      request_.keep_alive = false;
      co_await refuse(
          {.code = Code::overloaded,
           .detail = "Too many request bodies are being held. Retry with the same key."});
      co_return false;
    }
  }
  request_.client.clear_deadline();
  co_return true;
}

void Exchange::take_fingerprint() {
  recipe_ = recipe_of(route_.fingerprint, request_.message.field("Content-Type").value_or(""),
                      has_digest_);
  fingerprint_ = make_fingerprint(recipe_, view());
}

awaitable<bool> Exchange::find_key_after_body() {
  if (key_) co_return true;
  if (route_.key.from == KeySource::fingerprint) {
    key_ = RecordId{fingerprint_.digest}.hex();
    co_return true;
  }
  FoundKey found = key_from_body(route_.key, body_);
  if (auto* bad = std::get_if<found_key::Bad>(&found)) {
    co_await refuse(
        {.code = Code::key_invalid, .detail = std::move(bad->why), .new_key_safe = true});
    co_return false;
  }
  if (auto* key = std::get_if<found_key::Key>(&found)) {
    key_ = std::move(key->key);
    co_return true;
  }
  if (route_.key.required) {
    co_await refuse({.code = Code::key_missing,
                     .detail = "Send a unique key for this operation at " + route_.key.pointer +
                               " in the body, and the same key with every retry of it.",
                     .new_key_safe = true});
    co_return false;
  }
  const UnkeyedRequest unkeyed{request_, route_index_, body_};
  co_await execute_unkeyed(unkeyed, {});
  co_return false;
}

std::optional<std::string> Exchange::joined_field(std::string_view name) const {
  std::optional<std::string> joined;
  for (const net::Field& field : request_.message.fields()) {
    if (!net::iequals(field.name, name)) continue;
    if (joined) *joined += ", ";
    joined = joined.value_or("") + std::string(field.value);
  }
  return joined;
}

RequestView Exchange::view() const {
  return {request_.message.method(),
          request_.target.path,
          request_.target.query,
          request_.message.field("Content-Type").value_or(""),
          body_,
          [this](std::string_view name) { return joined_field(name); }};
}

Ask Exchange::ask() const {
  const RouteConfig& named = named_now(route_, *request_.settings, *request_.worker.settings());
  Ask ask;
  ask.scope = {request_.settings->config.name_space, tenant_,
               operation_of(named, named.name, request_.target)};
  ask.former_operations = former_operations(named, request_.target);
  ask.key = *key_;
  ask.policy = route_.policy;
  ask.recipe = recipe_;
  ask.fingerprint = fingerprint_;
  ask.fingerprint_under = [this](const Recipe& recipe) { return make_fingerprint(recipe, view()); };
  ask.trace = request_.message.field("traceparent").value_or("");
  return ask;
}

awaitable<void> Exchange::answer(Admission admission) {
  if (auto* execute = std::get_if<admission::Execute>(&admission)) {
    co_await run_claim(std::move(execute->claim));
  } else if (auto* replay = std::get_if<admission::Replay>(&admission)) {
    Viewing viewing{replay->record.id, tenant_};
    if (!co_await may_see(request_, route_index_, std::move(viewing))) co_return;
    count(RequestResult::replayed);
    co_await send_replay(request_, route_, *key_, replay->record);
  } else if (auto* found_busy = std::get_if<admission::Busy>(&admission)) {
    co_await busy(std::move(*found_busy));
  } else if (auto* mismatch = std::get_if<admission::Mismatch>(&admission)) {
    count(RequestResult::mismatch);
    Problem problem{.code = Code::key_reused,
                    .status = route_.status_mismatch,
                    .detail =
                        "This key was used for a request that differs. Use a new key for a "
                        "new operation, and the same request for a retry.",
                    .new_key_safe = true,
                    .differs = std::move(mismatch->differs)};
    name_resource(problem, mismatch->record);
    co_await send_problem(request_, problem, &route_, echo(*key_));
  } else if (auto* unknown = std::get_if<admission::OutcomeUnknown>(&admission)) {
    co_await outcome_unknown_of(std::move(unknown->record));
  } else if (auto* unavailable = std::get_if<StoreUnavailable>(&admission)) {
    co_await store_down(std::move(*unavailable));
  } else {
    count(RequestResult::expired);
    const auto* version = std::get_if<admission::VersionChanged>(&admission);
    Problem problem{.code = Code::key_expired,
                    .detail = version
                                  ? "The operation was done; its answer was recorded in an older "
                                    "form and can no longer be given."
                                  : "The operation with this key was done too long ago for its "
                                    "answer to be given again."};
    if (version) name_resource(problem, version->record);
    co_await send_problem(request_, problem, &route_, echo(*key_));
  }
}

// Where the answer itself is not given, what it made can be named: the client may look at that. Not
// where it is another's to say who may see the answer.
void Exchange::name_resource(Problem& problem, const Record& record) const {
  if (route_.reauthorize) return;
  problem.resource_type = record.resource_type;
  problem.resource_id = record.resource_id;
}

awaitable<void> Exchange::run_claim(Claim claim) {
  if (claim.record.attempt == 1 && key_->size() < kWeakKeyBytes) {
    request_.metrics(route_index_).weak_key();
  }
  count(RequestResult::executed);
  const KeyedRequest keyed{request_.head(), body_, key_in_header_};
  Execution execution(request_.worker, request_.settings, route_index_, std::move(claim), keyed,
                      &request_);
  bool ended = false;
  try {
    co_await execution.run();
    ended = true;
  } catch (const std::exception& error) {
    log_event(LogLevel::error, "execution failed", {{"why", error.what()}});
  }
  if (!ended) {
    request_.keep_alive = false;
    co_await execution.give_up();
  }
}

awaitable<void> Exchange::outcome_unknown_of(Record record) {
  if (route_.policy.unknown == UnknownPolicy::probe && !probed_) {
    probed_ = true;  // once a request: its answer may be about an attempt of our own
    if (co_await gateway_.prober->ask(request_.worker, request_.settings, route_index_,
                                      std::move(record), *key_)) {
      Admission again = co_await gateway_.engine.admit(ask());
      co_await answer(std::move(again));
      co_return;
    }
  }
  count(RequestResult::unknown);
  co_await send_problem(request_, outcome_unknown(), &route_, echo(*key_));
}

// Somebody executes this very request. One deadline holds over all the looks it takes.
awaitable<void> Exchange::busy(admission::Busy found) {
  const auto now = request_.worker.deadlines().now();
  if (!wait_until_) wait_until_ = now + route_.wait_timeout;
  if (route_.in_progress == InProgress::wait && now < *wait_until_) {
    request_.in_flight.reset();  // it only waits
    const auto left = std::chrono::duration_cast<Duration>(*wait_until_ - now);
    Waited waited = co_await gateway_.engine.wait(found.record.id, found.record.token, left);
    if (auto* settled = std::get_if<std::shared_ptr<const Settled>>(&waited)) {
      Viewing viewing{found.record.id, tenant_};
      if (!co_await may_see(request_, route_index_, std::move(viewing))) co_return;
      count(RequestResult::waited);
      co_await send_settled(request_, route_, *key_, **settled);
      co_return;
    }
    if (std::holds_alternative<waited::LookAgain>(waited)) {
      Admission again = co_await gateway_.engine.admit(ask());
      if (std::holds_alternative<admission::Busy>(again)) {
        co_await gateway_.clock.sleep(kLookAgainAfter);
      }
      co_await answer(std::move(again));
      co_return;
    }
  }
  count(RequestResult::conflict);
  co_await send_problem(request_, in_progress_problem(route_), &route_, echo(*key_));
}

awaitable<void> Exchange::store_down(StoreUnavailable unavailable) {
  log_event(LogLevel::warn, "store unavailable",
            {{"route", route_.name}, {"why", unavailable.why}});
  if (route_.store_down == StoreDown::pass) {
    const RecordId id = make_id(ask().scope, *key_);
    const UnkeyedRequest unkeyed{request_, route_index_, body_,
                                 forward_key(route_, id, *key_, key_in_header_)};
    co_await execute_unkeyed(unkeyed, {{"Idempotency-Degraded", "true"}});
    co_return;
  }
  co_await refuse({.code = Code::store_unavailable,
                   .detail = "Nothing was executed. Retry with the same key."});
}

}  // namespace

bool is_keyed(const ClientRequest& request, const RouteConfig& route) {
  if (!is_keyed_method(route, request.message.method())) return false;
  return route.key.required || route.key.from != KeySource::header ||
         has_key_header(route.key, request.message);
}

awaitable<void> exchange(ClientRequest& request, std::size_t route) {
  Exchange exchange(request, route);
  co_await exchange.run();
}

}  // namespace semel
