// The least that is durable twice: a proxy of a hundred lines that appends to a synced log before
// it sends a request on and before it passes the answer back. No keys, no records, no rules: what
// the gateway, which is made of the same parts, costs beyond this is its own.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "http/connection.h"
#include "http/pool.h"
#include "synced_log.h"

namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;
namespace http = semel::http;

// Together a little more than the 922 bytes that the embedded store's log takes for a new key here.
constexpr std::size_t kClaimBytes = 420;
constexpr std::size_t kCompletionBytes = 700;
constexpr std::size_t kHeadBytesMax = 64 * 1024;
constexpr std::size_t kThreads = 2;

struct Worker {
  Worker(std::uint16_t upstream_port, semel::bench::SyncedLog& to)
      : pool(io.get_executor(), deadlines, "127.0.0.1", upstream_port), log(to) {}
  asio::io_context io{1};
  http::Deadlines deadlines{io.get_executor()};
  http::UpstreamPool pool;
  semel::bench::SyncedLog& log;
};

template <bool is_request>
awaitable<std::optional<std::string>> read_body(http::Connection& from,
                                                http::Message<is_request>& message) {
  std::string body;
  while (!message.is_done()) {
    const auto piece = co_await from.read_piece(message);
    if (!piece) co_return std::nullopt;
    body += *piece;
  }
  co_return body;
}

std::string with_fields(std::string head, const std::vector<http::Field>& fields) {
  for (const http::Field& field : fields) {
    head.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  return head.append("\r\n");
}

// False: the connection is of no use any more.
awaitable<bool> pass_on(Worker& worker, http::Connection& client) {
  http::Request request;
  std::string why;
  if (!co_await client.read_head(request, kHeadBytesMax, why)) co_return false;
  const auto body = co_await read_body(client, request);
  if (!body) co_return false;
  co_await worker.log.append(std::string(kClaimBytes, 'c'));

  std::unique_ptr<http::Connection> upstream = worker.pool.take_idle(std::chrono::minutes(1));
  if (!upstream) {
    auto connected = co_await worker.pool.connect(std::chrono::seconds(5));
    if (!connected) co_return false;
    upstream = std::move(*connected);
  }
  const std::string line =
      std::string(request.method()) + " " + std::string(request.target()) + " HTTP/1.1\r\n";
  const std::string head = with_fields(line, request.fields());
  if (!co_await upstream->write(head, *body)) co_return false;
  http::Response response;
  if (!co_await upstream->read_head(response, kHeadBytesMax, why)) co_return false;
  const auto answer = co_await read_body(*upstream, response);
  if (!answer) co_return false;
  worker.pool.give_back(std::move(upstream));
  co_await worker.log.append(std::string(kCompletionBytes, 'a'));

  const std::string status = "HTTP/1.1 " + std::to_string(response.status()) + " OK\r\n";
  const std::string answer_head = with_fields(status, response.fields());
  co_return (co_await client.write(answer_head, *answer)).has_value();
}

awaitable<void> serve(Worker& worker, tcp::socket socket) {
  socket.set_option(tcp::no_delay(true));
  http::Connection client(std::move(socket), worker.deadlines);
  while (co_await client.wait_readable() && co_await pass_on(worker, client)) {
  }
}

awaitable<void> listen(Worker& worker, std::uint16_t port) {
  using reuse_port = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
  tcp::acceptor acceptor(worker.io, tcp::v4());
  acceptor.set_option(reuse_port(true));
  acceptor.bind({asio::ip::address_v4::loopback(), port});
  acceptor.listen();
  for (;;) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(worker.io, serve(worker, std::move(socket)), asio::detached);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_bare PORT UPSTREAM_PORT LOG_FILE\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  const auto upstream_port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  semel::bench::SyncedLog log(argv[3]);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      Worker worker(upstream_port, log);
      asio::co_spawn(worker.io, listen(worker, port), asio::detached);
      asio::co_spawn(worker.io, worker.deadlines.run(), asio::detached);
      worker.io.run();
    });
  }
  for (std::thread& thread : threads) thread.join();
}
