#include "admin/admin.h"

#include "admin/admin_answer.h"
#include "execution/headers.h"
#include "runtime/upstreams/report.h"
#include "telemetry/open_metrics.h"

namespace semel::admin {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t kBodyBytesMax = 16 * 1024 * 1024;
constexpr std::size_t kConnectionsMax = 256;
constexpr std::string_view kKeys = "/api/keys";

bool is_json(const http::Request& request) {
  const std::string_view type = request.field("Content-Type").value_or("");
  return http::iequals(type.substr(0, type.find(';')), "application/json");
}

double seconds_since(Time now, Time then) {
  return std::max(0.0, std::chrono::duration<double>(now - then).count());
}

}  // namespace

Admin::Admin(server::Process& process, AdminAccess access)
    : process_(process),
      services_(process.services()),
      access_(std::move(access)),
      keys_(process) {}

std::expected<std::unique_ptr<Admin>, std::string> Admin::start(
    server::Process& process, const server::Listeners& listeners) {
  auto access = read_access(process.config());
  if (!access) return std::unexpected(access.error());
  auto acceptor =
      listeners.listen(process.context(), server::Listeners::kAdmin, process.config().admin.listen);
  if (!acceptor) return std::unexpected(std::move(acceptor.error()));
  std::unique_ptr<Admin> admin(new Admin(process, *std::move(access)));
  admin->listener_ = server::ApiListener::start(
      *process.workers().front(), *std::move(acceptor),
      {.name = "admin", .connections_max = kConnectionsMax},
      [serving = admin.get()](server::ApiRequest& asked) { return serving->answer(asked); });
  return admin;
}

std::expected<AdminAccess, std::string> Admin::read_access(const config::Config& config) {
  engine::SystemTokens random;
  return AdminAccess::open(config, random);
}

awaitable<Answer> Admin::answer(server::ApiRequest& asked) {
  const http::Request& request = asked.message();
  const auto target = http::parse_target(request.target());
  if (!target) co_return problem_answer(400, "bad-request", "Unsupported request target.");
  if (auto refusal = access_.refuse(request, target->path)) co_return std::move(*refusal);
  if (request.method() == "GET" || request.method() == "HEAD") {
    co_return co_await read(request, *target);
  }
  if (request.method() == "POST" && target->path.starts_with(kKeys)) {
    co_return co_await change(asked, target->path);
  }
  co_return problem_answer(405, "method-not-allowed", "Only GET and HEAD are supported here.");
}

awaitable<Answer> Admin::read(const http::Request& request, const http::Target& target) {
  const std::string& path = target.path;
  if (path == "/healthz") co_return text_answer(200, "ok\n");
  if (path == "/readyz") co_return ready();
  if (path == "/metrics") {
    using Format = telemetry::Metrics::Format;
    if (request.field("Accept").value_or("").contains("application/openmetrics-text")) {
      co_return text_answer(200, metrics(Format::open_metrics),
                            std::string(telemetry::kOpenMetricsType));
    }
    co_return text_answer(200, metrics(Format::text), "text/plain; version=0.0.4; charset=utf-8");
  }
  if (path == kKeys) co_return co_await keys_.list(target.query);
  if (path.starts_with("/api/keys/")) {
    co_return co_await keys_.show(path.substr(kKeys.size() + 1));
  }
  co_return problem_answer(404, "no-such-path",
                           "No such path. Use /healthz, /readyz, /metrics or /api/keys.");
}

// Checks the token first: nobody without one makes this process read a body.
awaitable<Answer> Admin::change(server::ApiRequest& asked, std::string path) {
  auto who = access_.operator_of(asked.message());
  if (!who) co_return std::move(who.error());
  if (!is_json(asked.message())) {
    co_return problem_answer(415, "not-json", "Send the decision as application/json.");
  }
  auto body = co_await asked.read_body(kBodyBytesMax);
  if (!body) {
    co_return problem_answer(413, "body-too-large",
                             "The body is incomplete or larger than 16 MiB.");
  }
  asked.take_time();  // for many writes
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

std::string Admin::metrics(telemetry::Metrics::Format format) const {
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
  return services_.metrics.render(snapshot, format);
}

}  // namespace semel::admin
