#include "gateway/session.h"

#include <netinet/tcp.h>

#include "config/own_paths.h"
#include "execution/answer/reply.h"
#include "gateway/keyed/exchange.h"
#include "gateway/keyed/status_resource.h"
#include "gateway/observe.h"
#include "gateway/proxy.h"
#include "http/target.h"

namespace semel::gateway {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// The kernel reports that a socket takes more only when a third of its buffer is free, and the
// buffer grows to megabytes: a slow client would seem to have stopped for minutes. With this
// option, the kernel goes by the bytes that have not been sent yet.
using NotSentMax = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
constexpr int kNotSentBytesMax = 128 * 1024;

// As long as nginx keeps an idle connection: longer than the 60 s of common load balancers, which
// would otherwise send a request on a connection that is just being closed.
constexpr auto kKeepAliveIdle = std::chrono::seconds(75);
constexpr int kServerErrors = 500;
// How many connections beyond the limit are told so; further ones are closed without a word.
constexpr std::size_t kRefusedMax = 64;

// A request whose head could not be read has no route and no version: it gets a plain refusal.
awaitable<void> refuse_head(execution::ClientRequest& request, http::IoError error,
                            const std::string& why) {
  request.keep_alive = false;
  core::Problem problem;
  problem.new_key_safe = true;
  switch (error) {
    case http::IoError::too_large:
      problem.status = 431;
      problem.detail = "The request's head is too large.";
      break;
    case http::IoError::timeout:
      problem.status = 408;
      problem.detail = "The request's head did not arrive in time.";
      break;
    case http::IoError::malformed:
      problem.detail = "The request is malformed or ambiguous: " + why + ".";
      break;
    case http::IoError::closed:
    case http::IoError::truncated:
      co_return;
  }
  co_await execution::send_problem(request, problem, nullptr);
}

awaitable<void> serve_own(execution::ClientRequest& request) {
  if (request.target.path == config::kPolicyPath && request.message.method() == "GET") {
    Answer answer;
    answer.status = 200;
    answer.headers.push_back({"Content-Type", "application/json"});
    answer.body = request.settings->policy_page;
    co_await execution::send_answer(request, answer, {});
    co_return;
  }
  const bool reads = request.message.method() == "GET" || request.message.method() == "HEAD";
  if (request.target.path.starts_with(config::kOperationsPath) && reads) {
    co_await serve_status(request);
    co_return;
  }
  core::Problem problem{.code = core::Code::no_route, .detail = "There is nothing at this path."};
  co_await execution::send_problem(request, problem, nullptr);
}

awaitable<void> handle(execution::ClientRequest& request) {
  auto target = http::parse_target(request.message.target());
  const auto expect = request.message.field("Expect");
  if (!target || request.message.method() == "CONNECT") {
    core::Problem problem{.detail = "Unsupported request target"};
    problem.detail += target ? "." : ": " + std::string(target.error()) + ".";
    request.keep_alive = false;
    co_await execution::send_problem(request, problem, nullptr);
    co_return;
  }
  // Servers differ in which of the two counts.
  const auto host = request.message.field("Host");
  if (!target->authority.empty() && !http::iequals(host.value_or(""), target->authority)) {
    core::Problem problem{.detail = "The request's target and its Host name different hosts."};
    request.keep_alive = false;
    co_await execution::send_problem(request, problem, nullptr);
    co_return;
  }
  if (expect && !http::iequals(*expect, "100-continue")) {
    request.keep_alive = false;
    core::Problem problem{.status = 417, .detail = "Only Expect: 100-continue is supported."};
    co_await execution::send_problem(request, problem, nullptr);
    co_return;
  }
  request.target = std::move(*target);
  if (request.target.path.starts_with(config::kReservedPath)) {
    co_await serve_own(request);
    co_return;
  }
  const auto matched = request.settings->router.match(request.target.path);
  if (!matched) {
    core::Problem problem{.code = core::Code::no_route,
                          .detail = "No route is configured for this path.",
                          .new_key_safe = true};
    co_await execution::send_problem(request, problem, nullptr);
    co_return;
  }
  const runtime::Route route(request.settings, *matched);
  request.trace.set_name(request.message.method(), route->name);
  request.trace.set("http.route", route->path);
  if (evades_key(request.message, route.config())) {
    core::Problem problem{.detail = "Write the method in upper case.", .new_key_safe = true};
    co_await execution::send_problem(request, problem, &route.config());
    co_return;
  }
  const bool keyed = is_keyed(request.message, route.config());
  if (route->webhook && !keyed) {
    core::Problem problem{.status = 405, .detail = "Send events by POST.", .new_key_safe = true};
    co_await execution::send_problem(request, problem, &route.config(), {{"Allow", "POST"}});
    co_return;
  }
  if (keyed && route->mode == config::Mode::observe) {
    co_await observe(request, route);
  } else if (keyed) {
    co_await exchange(request, route);
  } else {
    co_await proxy(request, route);
  }
}

void begin_trace(execution::ClientRequest& request) {
  runtime::Services& services = request.services();
  if (!services.tracer) return;
  request.trace = services.begin_trace(execution::traceparent_of(request.message.fields()),
                                       telemetry::SpanKind::server);
  request.trace.set_name(request.message.method(), {});
  request.trace.set("http.request.method", request.message.method());
  request.trace.set("client.address", request.forwarded.peer_address);
}

void end_trace(execution::ClientRequest& request) {
  if (!request.trace) return;
  request.trace.set("url.path", request.target.path);
  if (request.sent_status != 0) {
    request.trace.set("http.response.status_code", request.sent_status);
  }
  if (request.sent_status == 0 || request.sent_status >= kServerErrors) request.trace.set_failed();
  request.trace.end();
}

// Makes the connection ready for the next request. False: close it.
awaitable<bool> finish_request(execution::ClientRequest& request) {
  if (!request.keep_alive) co_return false;
  if (request.message.is_done()) co_return true;
  if (!execution::reads_rest(request)) co_return false;
  request.client.set_deadline(request.limits().body_timeout);
  while (!request.message.is_done()) {
    if (!co_await request.client.read_piece(request.message)) co_return false;
  }
  co_return true;
}

// Serves one request. False: the connection is to be closed.
awaitable<bool> serve_request(runtime::Worker& worker, http::Connection& client,
                              const execution::Forwarded& from, runtime::ShareHolder* peer) {
  const runtime::ActiveConfigPtr settings = worker.settings();
  const config::LimitsConfig& limits = settings->config.limits;
  client.set_deadline(limits.header_timeout);
  http::Request message;
  std::string why;
  const auto head = co_await client.read_head(message, limits.header_bytes, why);
  client.clear_deadline();
  execution::ClientRequest request{worker, settings, client, message, {}, from};
  request.peer = peer;
  if (!head) {
    co_await refuse_head(request, head.error(), why);
    co_return false;
  }
  request.keep_alive = message.keep_alive();
  runtime::Counted active(worker.services().active);
  if (worker.services().ending) co_return false;
  begin_trace(request);
  co_await handle(request);
  end_trace(request);
  co_return co_await finish_request(request);
}

// Tells a client that there is no room for its connection. The refused connection does not count.
awaitable<void> refuse_connection(runtime::Worker& worker, http::Connection& client,
                                  const execution::Forwarded& from) {
  const runtime::Counted refusing(worker.services().refusing);
  // Not over TLS: saying why would cost a handshake first.
  if (worker.settings()->key_material.server || refusing.before() >= kRefusedMax) co_return;
  http::Request none;
  execution::ClientRequest request{worker, worker.settings(), client, none, {}, from, false};
  core::Problem problem{.code = core::Code::overloaded, .detail = "Too many connections are open."};
  co_await execution::send_problem(request, problem, nullptr);
  co_await client.close_gently();
}

// A client's place among limits.connections.
struct ConnectionSlot {
  ConnectionSlot(runtime::Services& services, runtime::ShareHolder* holder)
      : all(services.connections) {
    if (holder) own.emplace(holder->connections);
  }
  runtime::Counted all;
  std::optional<runtime::Counted> own;
};

// Returns whether the connection may stay. If all places are taken, an idle connection has to make
// room: one of the peer's own if the peer has its share already, the longest idle otherwise.
bool has_room(runtime::Worker& worker, const ConnectionSlot& slot,
              const runtime::ShareHolder* peer) {
  const std::size_t limit = worker.settings()->config.limits.connections;
  const std::size_t own = slot.own ? slot.own->before() : 0;
  const std::size_t all = slot.all.before();
  if (runtime::has_share(own, all, limit)) return true;
  if (peer && own >= runtime::kept_for_others(limit) && runtime::kept_for_others(limit) > 0) {
    return worker.end_idle_of(*peer);
  }
  return worker.end_longest_idle();
}

}  // namespace

awaitable<void> serve_client(runtime::Worker& worker, asio::ip::tcp::socket socket) {
  runtime::Services& services = worker.services();
  boost::system::error_code error;
  socket.set_option(asio::ip::tcp::no_delay(true), error);
  socket.set_option(NotSentMax(kNotSentBytesMax), error);
  const auto remote = socket.remote_endpoint(error);
  if (error) co_return;
  runtime::ActiveConfigPtr settings = worker.settings();
  const auto tls = settings->key_material.server;
  execution::Forwarded from{remote.address().to_string(),
                            settings->trusted.contains(remote.address()), tls != nullptr};
  const runtime::ShareHolderPtr peer =
      from.from_trusted_proxy ? nullptr : services.holders.of_peer(remote.address());
  std::optional<ConnectionSlot> slot(std::in_place, services, peer.get());
  http::Connection client(std::move(socket), worker.deadlines());
  if (!has_room(worker, *slot, peer.get())) {
    slot.reset();
    co_await refuse_connection(worker, client, from);
    co_return;
  }
  if (tls) {
    client.set_deadline(settings->config.limits.header_timeout);
    const auto secured = co_await client.start_tls(tls->new_session());
    if (!secured) {
      telemetry::log_event(config::LogLevel::debug, "no TLS session",
                           {{"peer", from.peer_address}, {"why", secured.error()}});
      co_return;
    }
  }
  Duration patience = settings->config.limits.header_timeout;
  for (;;) {
    client.set_deadline(patience);
    {
      const runtime::Worker::Idle idle(worker, client, peer.get());
      if (!co_await client.wait_readable()) break;
    }
    if (settings != worker.settings()) {  // trusted proxies may have changed
      settings = worker.settings();
      from.from_trusted_proxy = settings->trusted.contains(remote.address());
    }
    if (!co_await serve_request(worker, client, from, peer.get())) {
      const runtime::Worker::Idle idle(worker, client, peer.get());
      co_await client.close_gently();
      break;
    }
    if (services.draining) break;
    patience = kKeepAliveIdle;
  }
  client.end();
}

}  // namespace semel::gateway
