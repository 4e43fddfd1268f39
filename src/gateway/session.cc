#include "gateway/session.h"

#include <netinet/tcp.h>

#include "config/own_paths.h"
#include "execution/answer/reply.h"
#include "gateway/keyed/exchange.h"
#include "gateway/keyed/status_resource.h"
#include "gateway/observe.h"
#include "gateway/proxy.h"
#include "http/target.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// The kernel reports that a socket takes more only when a third of its buffer is free, and the
// buffer grows to megabytes: a slow client would seem to have stopped for minutes. With this
// option, the kernel goes by the bytes that have not been sent yet.
using NotSentMax = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
constexpr int kNotSentBytesMax = 128 * 1024;

constexpr auto kKeepAliveIdle = std::chrono::seconds(75);
// How many connections beyond the limit are told so; further ones are closed without a word.
constexpr std::size_t kRefusedMax = 64;

// A request whose head could not be read has no route and no version: it gets a plain refusal.
awaitable<void> refuse_head(ClientRequest& request, net::IoError error, const std::string& why) {
  request.keep_alive = false;
  Problem problem;
  problem.new_key_safe = true;
  switch (error) {
    case net::IoError::too_large:
      problem.status = 431;
      problem.detail = "The request's head is larger than this server takes.";
      break;
    case net::IoError::timeout:
      problem.status = 408;
      problem.detail = "The request's head did not arrive in time.";
      break;
    case net::IoError::malformed:
      problem.detail = "The request cannot be read without ambiguity: " + why + ".";
      break;
    case net::IoError::closed:
    case net::IoError::truncated:
      co_return;
  }
  co_await send_problem(request, problem, nullptr);
}

awaitable<void> serve_own(ClientRequest& request) {
  if (request.target.path == kPolicyPath && request.message.method() == "GET") {
    Answer answer;
    answer.status = 200;
    answer.headers.push_back({"Content-Type", "application/json"});
    answer.body = request.settings->policy_page;
    co_await send_answer(request, answer, {});
    co_return;
  }
  const bool reads = request.message.method() == "GET" || request.message.method() == "HEAD";
  if (request.target.path.starts_with(kOperationsPath) && reads) {
    co_await serve_status(request);
    co_return;
  }
  Problem problem{.code = Code::no_route, .detail = "There is nothing at this path."};
  co_await send_problem(request, problem, nullptr);
}

awaitable<void> handle(ClientRequest& request) {
  auto target = parse_target(request.message.target());
  const auto expect = request.message.field("Expect");
  if (!target || request.message.method() == "CONNECT") {
    Problem problem{.detail = "The request's target is not one this server takes"};
    problem.detail += target ? "." : ": " + std::string(target.error()) + ".";
    request.keep_alive = false;
    co_await send_problem(request, problem, nullptr);
    co_return;
  }
  // Servers differ in which of the two counts.
  const auto host = request.message.field("Host");
  if (!target->authority.empty() && !net::iequals(host.value_or(""), target->authority)) {
    Problem problem{.detail = "The request's target and its Host name different hosts."};
    request.keep_alive = false;
    co_await send_problem(request, problem, nullptr);
    co_return;
  }
  if (expect && !net::iequals(*expect, "100-continue")) {
    request.keep_alive = false;
    Problem problem{.status = 417, .detail = "Only 100-continue can be expected."};
    co_await send_problem(request, problem, nullptr);
    co_return;
  }
  request.target = std::move(*target);
  if (request.target.path.starts_with(kReservedPath)) {
    co_await serve_own(request);
    co_return;
  }
  const auto matched = request.settings->router.match(request.target.path);
  if (!matched) {
    Problem problem{.code = Code::no_route,
                    .detail = "No route is configured for this path.",
                    .new_key_safe = true};
    co_await send_problem(request, problem, nullptr);
    co_return;
  }
  const Route route(request.settings, *matched);
  if (evades_key(request, route.config())) {
    Problem problem{.detail = "Write the method in upper case.", .new_key_safe = true};
    co_await send_problem(request, problem, &route.config());
    co_return;
  }
  const bool keyed = is_keyed(request, route.config());
  if (route->webhook && !keyed) {
    Problem problem{.status = 405, .detail = "Events are sent here by POST.", .new_key_safe = true};
    co_await send_problem(request, problem, &route.config(), {{"Allow", "POST"}});
    co_return;
  }
  if (keyed && route->mode == Mode::observe) {
    co_await observe(request, route);
  } else if (keyed) {
    co_await exchange(request, route);
  } else {
    co_await proxy(request, route);
  }
}

// Makes the connection ready for the next request. False: close it.
awaitable<bool> finish_request(ClientRequest& request) {
  if (!request.keep_alive) co_return false;
  if (request.message.is_done()) co_return true;
  if (!reads_rest(request)) co_return false;
  request.client.set_deadline(request.limits().body_timeout);
  while (!request.message.is_done()) {
    if (!co_await request.client.read_piece(request.message)) co_return false;
  }
  co_return true;
}

// Serves one request. False: the connection is to be closed.
awaitable<bool> serve_request(Worker& worker, net::Connection& client, const Forwarded& from,
                              ShareHolder* peer) {
  const ActiveConfigPtr settings = worker.settings();
  const LimitsConfig& limits = settings->config.limits;
  client.set_deadline(limits.header_timeout);
  net::Request message;
  std::string why;
  const auto head = co_await client.read_head(message, limits.header_bytes, why);
  client.clear_deadline();
  ClientRequest request{worker, settings, client, message, {}, from};
  request.peer = peer;
  if (!head) {
    co_await refuse_head(request, head.error(), why);
    co_return false;
  }
  request.keep_alive = message.keep_alive();
  Counted active(worker.services().active);
  co_await handle(request);
  co_return co_await finish_request(request);
}

// Tells a client that there is no room for its connection. The refused connection does not count.
awaitable<void> refuse_connection(Worker& worker, net::Connection& client, const Forwarded& from) {
  const Counted refusing(worker.services().refusing);
  // Not over TLS: saying why would cost a handshake first.
  if (worker.settings()->key_material.server || refusing.before() >= kRefusedMax) co_return;
  net::Request none;
  ClientRequest request{worker, worker.settings(), client, none, {}, from, false};
  Problem problem{.code = Code::overloaded, .detail = "Too many connections are open."};
  co_await send_problem(request, problem, nullptr);
  co_await client.close_gently();
}

// A client's place among limits.connections.
struct ConnectionSlot {
  ConnectionSlot(Services& services, ShareHolder* holder) : all(services.connections) {
    if (holder) own.emplace(holder->connections);
  }
  Counted all;
  std::optional<Counted> own;
};

// Returns whether the connection may stay. If all places are taken, an idle connection has to make
// room: one of the peer's own if the peer has its share already, the longest idle otherwise.
bool has_room(Worker& worker, const ConnectionSlot& slot, const ShareHolder* peer) {
  const std::size_t limit = worker.settings()->config.limits.connections;
  const std::size_t own = slot.own ? slot.own->before() : 0;
  const std::size_t all = slot.all.before();
  if (has_share(own, all, limit)) return true;
  if (peer && own >= kept_for_others(limit) && kept_for_others(limit) > 0) {
    return worker.end_idle_of(*peer);
  }
  return worker.end_longest_idle();
}

}  // namespace

awaitable<void> serve_client(Worker& worker, asio::ip::tcp::socket socket) {
  Services& services = worker.services();
  boost::system::error_code error;
  socket.set_option(asio::ip::tcp::no_delay(true), error);
  socket.set_option(NotSentMax(kNotSentBytesMax), error);
  const auto remote = socket.remote_endpoint(error);
  if (error) co_return;
  ActiveConfigPtr settings = worker.settings();
  const auto tls = settings->key_material.server;
  Forwarded from{remote.address().to_string(), settings->trusted.contains(remote.address()),
                 tls != nullptr};
  const ShareHolderPtr peer =
      from.from_trusted_proxy ? nullptr : services.holders.of_peer(remote.address());
  std::optional<ConnectionSlot> slot(std::in_place, services, peer.get());
  net::Connection client(std::move(socket), worker.deadlines());
  if (!has_room(worker, *slot, peer.get())) {
    slot.reset();
    co_await refuse_connection(worker, client, from);
    co_return;
  }
  if (tls) {
    client.set_deadline(settings->config.limits.header_timeout);
    const auto secured = co_await client.start_tls(tls->new_session());
    if (!secured) {
      log_event(LogLevel::debug, "no TLS session",
                {{"peer", from.peer_address}, {"why", secured.error()}});
      co_return;
    }
  }
  Duration patience = settings->config.limits.header_timeout;
  for (;;) {
    client.set_deadline(patience);
    {
      const Worker::Idle idle(worker, client, peer.get());
      if (!co_await client.wait_readable()) break;
    }
    if (settings != worker.settings()) {  // trusted proxies may have changed
      settings = worker.settings();
      from.from_trusted_proxy = settings->trusted.contains(remote.address());
    }
    if (!co_await serve_request(worker, client, from, peer.get())) {
      const Worker::Idle idle(worker, client, peer.get());
      co_await client.close_gently();
      break;
    }
    if (services.draining) break;
    patience = kKeepAliveIdle;
  }
  client.end();
}

}  // namespace semel
