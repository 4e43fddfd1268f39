// An orders service: POST /orders with an Idempotency-Key, by itself or behind `semel serve`.
//
//   example_orders DATABASE-URL PROCESSOR-HOST:PORT LISTEN-HOST:PORT [COMPLETE-EVERY-MS]
//
// It says `listening PORT` when it is ready. With COMPLETE-EVERY-MS it also resumes what it or
// another one left behind.
#include <semel/completer.h>

#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "crash.h"
#include "order.h"

namespace orders {
namespace {

namespace http = boost::beast::http;
namespace pg = semel::pg;
using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

Connection connect(const std::string& url) {
  Connection connection(PQconnectdb(url.c_str()), PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
  return connection;
}

Response say(int status, std::string body) {
  Response response(http::int_to_status(status), 11);
  response.set(http::field::content_type, "application/json");
  if (status == 409 || status == 503) response.set(http::field::retry_after, "1");
  response.body() = std::move(body);
  return response;
}

Response say(const semel::Answer& answer, bool replayed) {
  Response response(http::int_to_status(answer.status), 11);
  for (const auto& header : answer.headers) response.set(header.name, header.value);
  if (replayed) response.set("Idempotency-Replayed", "true");
  response.body() = answer.body;
  return response;
}

struct Say {
  Response operator()(const pg::Executed& done) const { return say(done.answer, false); }
  Response operator()(const pg::Replayed& done) const { return say(done.answer, true); }
  Response operator()(const pg::Mismatch&) const { return say(422, R"({"code":"key-reused"})"); }
  Response operator()(const pg::Busy&) const { return say(409, R"({"code":"in-progress"})"); }
  Response operator()(const pg::Unknown&) const { return say(409, R"({"code":"unknown"})"); }
  Response operator()(const pg::Expired&) const { return say(410, R"({"code":"key-expired"})"); }
  Response operator()(const pg::VersionChanged&) const {
    return say(410, R"({"code":"key-expired"})");
  }
};

std::string field(const Request& request, const char* name) {
  const auto found = request.find(name);
  return found == request.end() ? "" : std::string(found->value());
}

pg::Result take(PGconn* connection, const pg::PhasedOperation& operation, const Request& request) {
  // From behind the gateway, or from `semel complete`: the claim is made already.
  if (const std::string token = field(request, "Semel-Token"); !token.empty()) {
    const semel::Claim claim = pg::parse_claim(field(request, "Semel-Record"), token);
    return pg::run(connection, operation, claim, request.body());
  }
  const pg::Call call{.key = field(request, "Idempotency-Key"), .tenant = "demo"};
  return pg::run(connection, operation, call, request.body());
}

// A connection to the database for each request, to keep the example short.
Response handle(const std::string& database, const pg::PhasedOperation& operation,
                const Request& request) try {
  if (request.method() != http::verb::post || request.target() != "/orders") return say(404, "{}");
  const Connection connection = connect(database);
  Response response = std::visit(Say{}, take(connection.get(), operation, request));
  crash_at("answer");
  return response;
} catch (const pg::Stale&) {
  return say(409, R"({"code":"in-progress"})");
} catch (const std::exception& error) {
  std::fprintf(stderr, "orders: %s\n", error.what());
  return say(503, R"({"code":"try-again"})");
}

void complete(const std::string& database, const pg::PhasedOperation& operation,
              std::chrono::milliseconds every) {
  for (;; std::this_thread::sleep_for(every)) {
    try {
      const Connection connection = connect(database);
      for (const auto& one : pg::complete_abandoned(connection.get(), {&operation, 1}).resumed) {
        std::fprintf(stderr, "orders: resumed %s: %s\n", one.key.c_str(),
                     one.answer ? "done" : one.error.c_str());
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "orders: %s\n", error.what());
    }
  }
}

Address address(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) throw std::invalid_argument("not HOST:PORT: " + text);
  return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace
}  // namespace orders

int main(int argc, char** argv) try {
  using namespace orders;
  if (argc < 4) {
    std::fputs("usage: example_orders DATABASE-URL PROCESSOR LISTEN [COMPLETE-EVERY-MS]\n", stderr);
    return 2;
  }
  const std::string database = argv[1];
  const semel::pg::PhasedOperation operation = create_order(address(argv[2]));
  if (argc > 4) {
    const std::chrono::milliseconds every(std::stoi(argv[4]));
    std::thread([&, every] { complete(database, operation, every); }).detach();
  }
  serve(
      address(argv[3]),
      [](std::uint16_t port) {
        std::printf("listening %d\n", port);
        std::fflush(stdout);
      },
      [&](const Request& request) { return handle(database, operation, request); });
} catch (const std::exception& error) {
  std::fprintf(stderr, "orders: %s\n", error.what());
  return 1;
}
