#include "admin/admin.h"

#include "admin/admin_answer.h"
#include "admin/backup_api.h"
#include "admin/console/console.h"
#include "admin/json_body.h"
#include "admin/live/status.h"
#include "admin/parameters.h"
#include "engine/spawn.h"
#include "runtime/upstreams/report.h"
#include "telemetry/open_metrics.h"

namespace semel::admin {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t kBodyBytesMax = 16 * 1024 * 1024;
constexpr std::size_t kConnectionsMax = 256;
constexpr std::size_t kExplainedBytesMax = 1024 * 1024;
constexpr std::string_view kKeys = "/api/keys";
constexpr std::string_view kQueue = "/api/queue";
constexpr std::string_view kAnswer = "/answer";

bool is_below(std::string_view path, std::string_view base) {
  return path.starts_with(base) && path.substr(base.size()).starts_with('/');
}

double seconds_since(Time now, Time then) {
  return std::max(0.0, std::chrono::duration<double>(now - then).count());
}

}  // namespace

Admin::Admin(server::Process& process, AdminAccess access)
    : process_(process),
      services_(process.services()),
      access_(std::move(access)),
      search_(process),
      keys_(process, search_),
      decider_(process, search_),
      setup_(process),
      live_(process) {}

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
  engine::spawn_loop(process.context().get_executor(), "sampling",
                     [sampling = &admin->live_] { return sampling->sample(); });
  return admin;
}

void Admin::use(AdminAccess access) {
  access_ = std::move(access);
  live_.end_streams();
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
    if (auto page = console_answer(request, target->path)) co_return std::move(*page);
    co_return co_await read(asked, *target);
  }
  if (request.method() == "POST") {
    if (target->path == "/api/explain") co_return co_await explain(asked);
    if (target->path == kBackupPath) co_return co_await back_up(process_, access_, asked);
    if (is_below(target->path, kKeys) || is_below(target->path, kQueue)) {
      co_return co_await change(asked, target->path);
    }
  }
  co_return problem_answer(405, "method-not-allowed", "Only GET and HEAD are supported here.");
}

awaitable<Answer> Admin::read(server::ApiRequest& asked, const http::Target& target) {
  const std::string& path = target.path;
  if (path == "/healthz") co_return text_answer(200, "ok\n");
  if (path == "/readyz") co_return ready();
  if (path == "/metrics") {
    using Format = telemetry::Metrics::Format;
    if (asked.message().field("Accept").value_or("").contains("application/openmetrics-text")) {
      co_return text_answer(200, metrics(Format::open_metrics),
                            std::string(telemetry::kOpenMetricsType));
    }
    co_return text_answer(200, metrics(Format::text), "text/plain; version=0.0.4; charset=utf-8");
  }
  if (path == "/api/status") co_return live_.status(target.query, access_.name_of(asked.message()));
  if (path == "/api/stats") co_return live_.stats(target.query);
  if (path == "/api/decisions") co_return live_.decisions(target.query);
  if (path == "/api/events") {
    co_return co_await live_.events(asked, target.query, access_.name_of(asked.message()));
  }
  asked.take_time();  // the rest reads the store
  if (path == "/api/routes") co_return co_await setup_.routes(target.query);
  if (path == "/api/nodes") co_return co_await setup_.nodes(target.query);
  if (path == "/api/config") co_return setup_.config(target.query);
  if (path == "/api/outbox") co_return co_await setup_.outbox(target.query);
  if (path == kQueue) co_return co_await keys_.list_work(target.query);
  if (path == kKeys) co_return co_await keys_.list(target.query);
  if (is_below(path, kKeys)) {
    co_return co_await read_keys(asked.message(), target);
  }
  co_return problem_answer(404, "no-such-path",
                           "No such path. Use /healthz, /readyz, /metrics or one below /api, like "
                           "/api/status or /api/keys.");
}

awaitable<Answer> Admin::read_keys(const http::Request& request, const http::Target& target) {
  if (const auto wrong = no_parameters(target.query)) {
    co_return problem_answer(400, "bad-query", *wrong);
  }
  std::string rest = target.path.substr(kKeys.size() + 1);
  if (!rest.ends_with(kAnswer)) co_return co_await keys_.show(std::move(rest));
  auto who = access_.operator_of(request);
  if (!who) co_return std::move(who.error());
  rest.resize(rest.size() - kAnswer.size());
  co_return co_await keys_.show_answer(std::move(rest), *std::move(who));
}

// Checks the token first: nobody without one makes this process read a body.
awaitable<Answer> Admin::change(server::ApiRequest& asked, std::string path) {
  auto who = access_.operator_of(asked.message());
  if (!who) co_return std::move(who.error());
  auto body = co_await read_json(asked, kBodyBytesMax);
  if (!body) co_return std::move(body.error());
  asked.take_time();  // for many writes
  const bool is_queue = path.starts_with(kQueue);
  const std::size_t base = is_queue ? kQueue.size() : kKeys.size();
  const std::string rest = path.substr(base + 1);
  const std::size_t slash = rest.rfind('/');
  const bool is_one = slash != std::string::npos;
  const std::string verb = is_one ? rest.substr(slash + 1) : rest;
  if (verb == "probe" && is_one && !is_queue) {
    co_return co_await keys_.probe(rest.substr(0, slash), *std::move(who), *std::move(body));
  }
  const auto decided = parse_verb(verb);
  if (!decided || is_about_work(*decided) != is_queue ||
      (*decided == Decided::extended && !is_one)) {
    co_return problem_answer(
        404, "no-such-path",
        is_queue ? "No such path. Use …/retry or …/drop."
                 : "No such path. Use …/resolve, …/release, …/forget, …/extend or …/probe.");
  }
  if (!is_one) {
    co_return co_await decider_.decide_many(*decided, *std::move(who), *std::move(body));
  }
  co_return co_await decider_.decide(*decided, rest.substr(0, slash), *std::move(who),
                                     *std::move(body));
}

// Changes nothing, so that on loopback it needs no token, like reading.
awaitable<Answer> Admin::explain(server::ApiRequest& asked) {
  auto body = co_await read_json(asked, kExplainedBytesMax);
  if (!body) co_return std::move(body.error());
  asked.take_time();
  co_return co_await setup_.explain(*std::move(body));
}

Answer Admin::ready() const {
  if (services_.draining) return text_answer(503, "draining\n");
  if (const auto trouble = services_.store.trouble()) return text_answer(503, *trouble + "\n");
  // Not 503: recorded answers are still given, and what runs is still recorded.
  std::string text = "ready\n";
  for (const std::string& note : notes_about(process_)) text += note + "\n";
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
