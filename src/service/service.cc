#include "service/service.h"

#include <fmt/format.h>

#include <chrono>

#include "service/openapi.h"
#include "service/replies.h"
#include "service/reporting.h"
#include "telemetry/log.h"

namespace semel::service {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// Beside the payload or the answer, which base64 makes larger by a third.
constexpr std::size_t kEnvelopeBytesMax = 256 * 1024;
constexpr std::string_view kClaims = "/v1/claims";
constexpr std::string_view kRecords = "/v1/records/";
constexpr std::string_view kOpenApi = "/v1/openapi.json";

std::size_t request_bytes_max(const config::ServiceConfig& config) {
  return 2 * config.max_body + kEnvelopeBytesMax;
}

Answer unauthorized() {
  Answer answer = problem({.code = core::Code::client_unknown,
                           .detail = "Send the token of a client: Authorization: Bearer TOKEN."});
  answer.headers.push_back({"WWW-Authenticate", "Bearer realm=\"semel\""});
  return answer;
}

Answer no_such_path() {
  return problem({.code = core::Code::no_route,
                  .detail = "No such path. /v1/openapi.json describes those that there are.",
                  .new_key_safe = true});
}

Answer wrong_method(std::string allowed) {
  Answer answer = problem({.code = core::Code::method_not_allowed,
                           .detail = "Only " + allowed + " is supported here.",
                           .new_key_safe = true});
  answer.headers.push_back({"Allow", std::move(allowed)});
  return answer;
}

struct ReportPath {
  RecordId record;
  Verb verb;
};
// Parses {record}/{verb}; nullopt: it is not one.
std::optional<ReportPath> parse_report_path(std::string_view rest) {
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto record = parse_record(rest.substr(0, slash));
  const auto verb = parse_verb(rest.substr(slash + 1));
  if (!record || !verb) return std::nullopt;
  return ReportPath{*record, *verb};
}

// Reads the body. The error is the answer to give instead; it says `new_key_safe`.
awaitable<std::expected<std::string, Answer>> body_of(Asked& asked, runtime::HeldBytes& held,
                                                      bool new_key_safe) {
  const std::size_t bytes_max = request_bytes_max(asked.config());
  const std::size_t announced = asked.request.message().body_length().value_or(bytes_max);
  if (!held.recount(std::min(announced, bytes_max), runtime::kBufferedBytesMax)) {
    co_return std::unexpected(
        problem({.code = core::Code::overloaded,
                 .detail = "Too many request bodies are being held. Send it again."},
                std::chrono::seconds(1)));
  }
  auto body = co_await asked.request.read_body(bytes_max);
  if (body) {
    held.recount(body->size(), runtime::kBufferedBytesMax);
    co_return *std::move(body);
  }
  if (body.error() == server::ApiRequest::BodyError::cut_off) {
    co_return std::unexpected(invalid("The body is not whole.", new_key_safe));
  }
  co_return std::unexpected(
      problem({.code = core::Code::body_too_large,
               .detail = "A request may have at most " + std::to_string(bytes_max) + " bytes.",
               .new_key_safe = new_key_safe}));
}

void log_call(const Asked& asked, std::string_view call, const Answer& answer,
              std::chrono::steady_clock::time_point begun) {
  const bool is_wanted = asked.settings->config.log.decisions == config::LogDecisions::all;
  if (!is_wanted || !telemetry::logs(config::LogLevel::info)) return;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
  telemetry::log_event(config::LogLevel::info, "service",
                       {{"call", call},
                        {"client", asked.client.name},
                        {"status", std::to_string(answer.status)},
                        {"ms", fmt::format("{:.3f}", took.count())}});
}

}  // namespace

Service::Service(server::Process& process, std::shared_ptr<const Clients> clients)
    : clients_(std::move(clients)), metrics_(process.services().metrics) {}

std::expected<std::unique_ptr<Service>, std::string> Service::start(
    server::Process& process, const server::Listeners& listeners) {
  const config::Config& config = process.config();
  if (!config.service) return nullptr;
  auto clients = Clients::load(*config.service);
  if (!clients) return std::unexpected(clients.error());
  std::unique_ptr<Service> service(new Service(process, *std::move(clients)));
  config::HostPort at = config.service->listen;
  const std::size_t connections_max =
      std::max<std::size_t>(1, config::kServiceConnectionsMax / process.workers().size());
  for (const auto& worker : process.workers()) {
    auto acceptor = listeners.listen(worker->context(), server::Listeners::kService, at);
    if (!acceptor) return std::unexpected(std::move(acceptor.error()));
    at.port = acceptor->local_endpoint().port();  // the one that the system picked
    service->listeners_.push_back(server::ApiListener::start(
        *worker, *std::move(acceptor), {.name = "service", .connections_max = connections_max},
        [serving = service.get(), on = worker.get()](server::ApiRequest& request) {
          return serving->answer(*on, request);
        }));
  }
  return service;
}

awaitable<Answer> Service::answer(runtime::Worker& worker, server::ApiRequest& request) {
  const auto begun = std::chrono::steady_clock::now();
  const runtime::Counted active(worker.services().active);
  if (worker.services().ending) co_return store_unavailable("Semel is ending. Send it again.");
  const auto target = http::parse_target(request.message().target());
  if (!target) co_return no_such_path();
  const std::string_view method = request.message().method();
  if (target->path == kOpenApi) {
    if (method != "GET" && method != "HEAD") co_return wrong_method("GET");
    co_return Answer{.status = 200,
                     .headers = {{"Content-Type", "application/json"}},
                     .body = std::string(openapi_document())};
  }
  const std::shared_ptr<const Clients> clients = clients_;
  const auto token = server::bearer_of(request.message());
  const Client* client = token ? clients->find(*token) : nullptr;
  if (client == nullptr) {
    metrics_.count("", "none", 401);
    co_return unauthorized();
  }
  Asked asked{request, *client, worker.services().holders.of_client(client->name), worker,
              worker.settings()};
  std::string call = "none";
  Answer answered = co_await answer_to(asked, target->path, call);
  metrics_.count(client->name, call, answered.status);
  log_call(asked, call, answered, begun);
  co_return answered;
}

awaitable<Answer> Service::answer_to(Asked& asked, std::string path, std::string& call) {
  const std::string_view method = asked.request.message().method();
  if (path == kClaims) {
    call = "claim";
    if (method != "POST") co_return wrong_method("POST");
    co_return co_await claim(asked);
  }
  if (path.starts_with(kRecords)) {
    call = "show";
    if (method != "GET" && method != "HEAD") co_return wrong_method("GET");
    const auto id = parse_record(std::string_view(path).substr(kRecords.size()));
    if (!id) co_return no_such_record();
    co_return co_await show_record(asked, *id);
  }
  if (path.starts_with(std::string(kClaims) + "/")) {
    const auto parsed = parse_report_path(std::string_view(path).substr(kClaims.size() + 1));
    if (!parsed) co_return no_such_path();
    call = to_string(parsed->verb);
    if (method != "POST") co_return wrong_method("POST");
    co_return co_await end_claim(asked, parsed->record, parsed->verb);
  }
  co_return no_such_path();
}

awaitable<Answer> Service::claim(Asked& asked) {
  runtime::HeldBytes held(asked.services().buffered_bytes, asked.holder.get());
  auto body = co_await body_of(asked, held, true);
  if (!body) co_return std::move(body.error());
  auto wanted = parse_claim(*body);
  if (!wanted) co_return invalid(wanted.error(), true);
  *body = {};  // it may wait for long
  Claiming claiming(asked, *std::move(wanted));
  co_return co_await claiming.run();
}

awaitable<Answer> Service::end_claim(Asked& asked, RecordId id, Verb verb) {
  runtime::HeldBytes held(asked.services().buffered_bytes, asked.holder.get());
  // The effect may have happened.
  auto body = co_await body_of(asked, held, false);
  if (!body) co_return std::move(body.error());
  auto said = parse_report(*body, verb);
  if (!said) co_return invalid(said.error(), false);
  body->clear();
  co_return co_await report(asked, id, verb, *std::move(said));
}

}  // namespace semel::service
