#include "admin/admin.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "gateway/headers.h"
#include "gateway/routing.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;

namespace {

constexpr auto kTimeout = std::chrono::seconds(10);
constexpr std::size_t kHeadBytesMax = 16 * 1024;

Answer text(int status, std::string body, std::string type = "text/plain; charset=utf-8") {
  Answer answer;
  answer.status = status;
  answer.headers.push_back({"Content-Type", std::move(type)});
  answer.body = std::move(body);
  return answer;
}

// A page that a browser was tricked into loading from elsewhere carries another host's name.
bool is_own_host(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1) == "[::1]";
  const std::string name(host.substr(0, host.find(':')));
  boost::system::error_code error;
  const auto address = asio::ip::make_address_v4(name, error);
  return net::iequals(name, "localhost") || (!error && address.is_loopback());
}

double seconds_since(Time now, Time then) {
  return std::max(0.0, std::chrono::duration<double>(now - then).count());
}

}  // namespace

Admin::Admin(Server& server)
    : server_(server),
      gateway_(server.gateway()),
      deadlines_(server.deadlines()),
      acceptor_(server.context()) {}

std::expected<std::unique_ptr<Admin>, std::string> Admin::start(Server& server) {
  std::unique_ptr<Admin> admin(new Admin(server));
  const HostPort& wanted = server.config().admin;
  const tcp::endpoint endpoint(asio::ip::make_address(wanted.host), wanted.port);
  boost::system::error_code error;
  tcp::acceptor& acceptor = admin->acceptor_;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error) {
    return std::unexpected("cannot listen on " + wanted.host + ":" + std::to_string(wanted.port) +
                           " (admin): " + error.message());
  }
  admin->listening_ = {wanted.host, acceptor.local_endpoint().port()};
  asio::co_spawn(server.context(), admin->accept(), asio::detached);
  return admin;
}

awaitable<void> Admin::accept() {
  for (;;) {
    boost::system::error_code error;
    tcp::socket socket(server_.context());
    co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
      co_await gateway_.clock.sleep(std::chrono::milliseconds(20));
      continue;
    }
    asio::co_spawn(server_.context(), serve(std::move(socket)), asio::detached);
  }
}

awaitable<void> Admin::serve(tcp::socket socket) {
  net::Connection client(std::move(socket), deadlines_);
  bool keep_alive = true;
  while (keep_alive) {
    client.set_deadline(kTimeout);
    net::Request request;
    std::string why;
    if (!co_await client.read_head(request, kHeadBytesMax, why)) co_return;
    keep_alive = request.keep_alive() && request.is_done();
    const Answer reply = answer(request);
    std::string head;
    append_status_line(head, reply.status);
    for (const Header& header : reply.headers) append_header(head, header.name, header.value);
    append_header(head, "Content-Length", std::to_string(reply.body.size()));
    append_header(head, "Connection", keep_alive ? "keep-alive" : "close");
    head += "\r\n";
    const bool body = request.method() != "HEAD";
    if (!co_await client.write(head, body ? std::string_view(reply.body) : std::string_view{})) {
      co_return;
    }
  }
}

Answer Admin::answer(const net::Request& request) const {
  if (!is_own_host(request.field("Host").value_or(""))) {
    return text(421, "This listener answers to the names of this machine only.\n");
  }
  if (request.method() != "GET" && request.method() != "HEAD") {
    return text(405, "Only GET is served here.\n");
  }
  const auto target = parse_target(request.target());
  const std::string path = target ? target->path : "";
  if (path == "/healthz") return text(200, "ok\n");
  if (path == "/readyz") return ready();
  if (path == "/metrics") return text(200, metrics(), "text/plain; version=0.0.4; charset=utf-8");
  return text(404, "Here are /healthz, /readyz and /metrics.\n");
}

Answer Admin::ready() const {
  if (gateway_.draining) return text(503, "draining\n");
  if (const auto trouble = gateway_.store.trouble()) return text(503, *trouble + "\n");
  return text(200, "ready\n");
}

std::string Admin::metrics() const {
  const Time now = gateway_.clock.now();
  const Engine::Running running = gateway_.engine.running();
  const StoreStats stats = gateway_.store.stats();
  Metrics::Snapshot snapshot;
  snapshot.in_progress = static_cast<double>(running.executions);
  if (running.oldest) snapshot.oldest_in_progress_seconds = seconds_since(now, *running.oldest);
  snapshot.unknown_records = static_cast<double>(stats.unknown_records);
  if (stats.oldest_unknown) {
    snapshot.oldest_unknown_seconds = seconds_since(now, *stats.oldest_unknown);
  }
  snapshot.waiting = static_cast<double>(running.waiters);
  snapshot.connections = static_cast<double>(gateway_.connections.load());
  return gateway_.metrics.render(snapshot);
}

}  // namespace semel
