#include "admin/admin.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "admin/admin_answer.h"
#include "engine/spawn.h"
#include "execution/headers.h"
#include "runtime/upstreams/report.h"

namespace semel::admin {
namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;

namespace {

constexpr auto kTimeout = std::chrono::seconds(10);
constexpr std::size_t kHeadBytesMax = 16 * 1024;
constexpr std::size_t kBodyBytesMax = 16 * 1024 * 1024;
constexpr std::size_t kConnectionsMax = 256;
constexpr std::string_view kKeys = "/api/keys";

bool is_json(const http::Request& request) {
  const std::string_view type = request.field("Content-Type").value_or("");
  return http::iequals(type.substr(0, type.find(';')), "application/json");
}

// nullopt: the body is cut off, or too large.
awaitable<std::optional<std::string>> read_body(AdminConnections& connections,
                                                http::Connection& client, http::Request& request) {
  const AdminConnections::Waiting sending(connections, client);
  std::string body;
  while (!request.is_done()) {
    const auto piece = co_await client.read_piece(request);
    if (!piece || body.size() + piece->size() > kBodyBytesMax) co_return std::nullopt;
    body += *piece;
  }
  co_return body;
}

double seconds_since(Time now, Time then) {
  return std::max(0.0, std::chrono::duration<double>(now - then).count());
}

}  // namespace

Admin::Admin(server::Process& process, AdminAccess access, tcp::acceptor acceptor)
    : process_(process),
      services_(process.services()),
      deadlines_(process.deadlines()),
      access_(std::move(access)),
      keys_(process),
      acceptor_(std::move(acceptor)),
      listening_(process.config().admin.listen.host, acceptor_.local_endpoint().port()) {}

std::expected<std::unique_ptr<Admin>, std::string> Admin::start(
    server::Process& process, const server::Listeners& listeners) {
  auto access = read_access(process.config());
  if (!access) return std::unexpected(access.error());
  auto acceptor =
      listeners.listen(process.context(), server::Listeners::kAdmin, process.config().admin.listen);
  if (!acceptor) return std::unexpected(std::move(acceptor.error()));
  std::unique_ptr<Admin> admin(new Admin(process, *std::move(access), *std::move(acceptor)));
  engine::spawn_loop(process.context().get_executor(), "accepting (admin)",
                     [serving = admin.get()] { return serving->accept(); });
  return admin;
}

std::expected<AdminAccess, std::string> Admin::read_access(const config::Config& config) {
  engine::SystemTokens random;
  return AdminAccess::open(config, random);
}

awaitable<void> Admin::accept() {
  for (;;) {
    boost::system::error_code error;
    tcp::socket socket(process_.context());
    co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
      co_await services_.clock.sleep(std::chrono::milliseconds(20));
      continue;
    }
    asio::co_spawn(process_.context(), serve(std::move(socket)),
                   engine::OrReport{"serving (admin)"});
  }
}

awaitable<void> Admin::serve(tcp::socket socket) {
  const auto connections = connections_;
  const runtime::Counted connected(connections->open);
  // Clients that hold connections and do nothing must not keep out a probe of /healthz.
  if (connected.before() >= kConnectionsMax && !connections->end_longest_waiting()) co_return;
  http::Connection client(std::move(socket), deadlines_);
  bool keep_alive = true;
  while (keep_alive && !client.is_given_up()) {
    client.set_deadline(kTimeout);
    http::Request request;
    std::string why;
    http::IoResult<void> read;
    {
      const AdminConnections::Waiting asking(*connections, client);
      read = co_await client.read_head(request, kHeadBytesMax, why);
    }
    if (!read && read.error() != http::IoError::malformed) co_return;
    if (client.is_given_up()) co_return;  // its place is taken, although it asked after all
    const Answer reply =
        read ? co_await answer(client, request) : problem_answer(400, "bad-request", why);
    keep_alive = read && request.keep_alive() && request.is_done();
    std::string head;
    http::append_status_line(head, reply.status);
    for (const Header& header : reply.headers) http::append_header(head, header.name, header.value);
    http::append_header(head, "Content-Length", std::to_string(reply.body.size()));
    http::append_header(head, "Connection", keep_alive ? "keep-alive" : "close");
    head += "\r\n";
    const bool body = request.method() != "HEAD";
    client.set_deadline(kTimeout);
    const AdminConnections::Waiting taking(*connections, client);
    if (!co_await client.write(head, body ? std::string_view(reply.body) : std::string_view{})) {
      break;
    }
  }
  const AdminConnections::Waiting closing(*connections, client);
  // Otherwise the unread rest of a refused request would reset the connection, and the answer would
  // be lost.
  co_await client.close_gently();
}

awaitable<Answer> Admin::answer(http::Connection& client, http::Request& request) {
  const auto target = http::parse_target(request.target());
  if (!target) co_return problem_answer(400, "bad-request", "Unsupported request target.");
  if (auto refusal = access_.refuse(request, target->path)) co_return std::move(*refusal);
  if (request.method() == "GET" || request.method() == "HEAD") {
    co_return co_await read(*target);
  }
  if (request.method() == "POST" && target->path.starts_with(kKeys)) {
    co_return co_await change(client, request, target->path);
  }
  co_return problem_answer(405, "method-not-allowed", "Only GET and HEAD are supported here.");
}

awaitable<Answer> Admin::read(const http::Target& target) {
  const std::string& path = target.path;
  if (path == "/healthz") co_return text_answer(200, "ok\n");
  if (path == "/readyz") co_return ready();
  if (path == "/metrics") {
    co_return text_answer(200, metrics(), "text/plain; version=0.0.4; charset=utf-8");
  }
  if (path == kKeys) co_return co_await keys_.list(target.query);
  if (path.starts_with("/api/keys/")) {
    co_return co_await keys_.show(path.substr(kKeys.size() + 1));
  }
  co_return problem_answer(404, "no-such-path",
                           "No such path. Use /healthz, /readyz, /metrics or /api/keys.");
}

// Checks the token first: nobody without one makes this process read a body.
awaitable<Answer> Admin::change(http::Connection& client, http::Request& request,
                                std::string path) {
  auto who = access_.operator_of(request);
  if (!who) co_return std::move(who.error());
  if (!is_json(request)) {
    co_return problem_answer(415, "not-json", "Send the decision as application/json.");
  }
  std::optional<std::string> body = co_await read_body(*connections_, client, request);
  if (!body) {
    co_return problem_answer(413, "body-too-large",
                             "The body is incomplete or larger than 16 MiB.");
  }
  client.clear_deadline();  // many writes may take longer than a client has for its request
  const std::string rest = path.substr(std::min(kKeys.size() + 1, path.size()));
  const std::size_t slash = rest.rfind('/');
  const std::string verb = slash == std::string::npos ? rest : rest.substr(slash + 1);
  const auto decided = parse_verb(verb);
  if (!decided) {
    co_return problem_answer(404, "no-such-path",
                             "No such path. Use …/resolve, …/release or …/forget.");
  }
  if (slash == std::string::npos) {
    co_return co_await keys_.decide_many(*decided, *std::move(who), *std::move(body));
  }
  co_return co_await keys_.decide(*decided, rest.substr(0, slash), *std::move(who),
                                  *std::move(body));
}

Answer Admin::ready() const {
  if (services_.draining) return text_answer(503, "draining\n");
  if (const auto trouble = services_.store.trouble()) return text_answer(503, *trouble + "\n");
  // Not 503: recorded answers are still given, and what runs is still recorded.
  std::string text = "ready\n";
  if (services_.store_disk && services_.store_disk->is_low()) {
    text += "accepts no new keys: " + services_.store_disk->describe() + "\n";
  }
  if (services_.spool.disk().is_low()) {
    text += "accepts no large bodies: " + services_.spool.disk().describe() + "\n";
  }
  for (const std::string& line : runtime::upstream_troubles(process_.settings())) {
    text += line + "\n";
  }
  return text_answer(200, std::move(text));
}

std::string Admin::metrics() const {
  const Time now = services_.clock.now();
  const Engine::Running running = services_.engine.running();
  const StoreStats stats = services_.store.stats();
  telemetry::Metrics::Snapshot snapshot;
  snapshot.in_progress = static_cast<double>(running.executions);
  if (running.oldest) snapshot.oldest_in_progress_seconds = seconds_since(now, *running.oldest);
  snapshot.unknown_records = static_cast<double>(stats.unknown_records);
  if (stats.oldest_unknown) {
    snapshot.oldest_unknown_seconds = seconds_since(now, *stats.oldest_unknown);
  }
  snapshot.waiting = static_cast<double>(running.waiters + services_.wait_elsewhere.load());
  snapshot.removed_records = static_cast<double>(stats.removed_records);
  snapshot.store_clock_ahead_seconds = std::chrono::duration<double>(stats.clock_ahead).count();
  const StoreDoubts doubts = services_.store.doubts();
  snapshot.store_doubts_clock = doubts.clock;
  snapshot.store_doubts_claims = doubts.claims;
  snapshot.connections = static_cast<double>(services_.connections.load());
  snapshot.spool_bytes = static_cast<double>(services_.spool.taken_bytes());
  snapshot.spool_refused = static_cast<double>(services_.spool.refused());
  if (services_.store_disk) snapshot.store_free_bytes = services_.store_disk->free_bytes();
  snapshot.spool_free_bytes = services_.spool.disk().free_bytes();
  snapshot.free_bytes_min = static_cast<double>(process_.config().store.free_bytes_min);
  runtime::note_upstreams(process_.settings(), snapshot);
  return services_.metrics.render(snapshot);
}

}  // namespace semel::admin
