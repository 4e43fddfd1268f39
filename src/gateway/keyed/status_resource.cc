#include "gateway/keyed/status_resource.h"

#include <boost/json.hpp>

#include "base/names.h"
#include "base/utf8.h"
#include "config/own_paths.h"
#include "config/reading/values.h"
#include "core/json_text.h"
#include "execution/answer/answer_json.h"
#include "execution/answer/cors.h"
#include "execution/answer/handle.h"
#include "execution/answer/reauthorize.h"
#include "execution/answer/replay.h"
#include "execution/answer/retry_after.h"
#include "execution/operation_name.h"
#include "gateway/tenant/caller.h"
#include "runtime/waits.h"
#include "semel/driver/scope.h"

namespace semel::gateway {
namespace json = boost::json;
using boost::asio::awaitable;

namespace {

constexpr Duration kWaitMax = std::chrono::seconds(60);
// How often a wait checks whether the process wants to end.
constexpr Duration kWaitSlice = std::chrono::seconds(1);

bool is_pending(const Record& record) {
  return record.state == RecordState::queued || record.state == RecordState::in_progress;
}

constexpr auto kExplanations = base::names<RecordState::tombstone>({
    {RecordState::queued, "The request is kept and will be executed."},
    {RecordState::in_progress, "The request is being executed."},
    {RecordState::completed, "The request was executed; this is its answer."},
    {RecordState::released,
     "The last attempt ended without effect. Send the request again with the same key."},
    {RecordState::unknown,
     "The request was forwarded, but no answer came back, so it may have taken effect. Do not "
     "send it under a new key."},
    {RecordState::tombstone,
     "The operation was done too long ago for its answer to be given again."},
});

// Returns what the tenant may know. Includes the reason only if it is the executor's status: other
// reasons are the operator's business.
std::string status_json(const Record& record, Time now) {
  json::object out;
  out["state"] = to_string(record.state);
  out["attempt"] = record.attempt;
  out["created_at"] = execution::timestamp(record.created_at);
  out["updated_at"] = execution::timestamp(record.updated_at);
  const double age = std::chrono::duration<double>(now - record.created_at).count();
  out["age_seconds"] = std::max(0.0, age);
  out["detail"] = kExplanations[record.state];
  if (record.reason_code == ReasonCode::executor_status) {
    out["reason"] = base::printable_utf8(record.reason);
  }
  if (record.expires_at != kNever) out["expires_at"] = execution::timestamp(record.expires_at);
  if (record.state == RecordState::completed) {
    out["result"] = record.result == RecordResult::succeeded ? "succeeded" : "failed";
    out["response"] = execution::answer_json(record.answer);
  }
  if (record.state == RecordState::unknown) out["new_key_safe"] = false;
  return core::json_text(out);
}

// `route`: where the operation came from; null if that is no longer configured.
Answer status_answer(const execution::ClientRequest& request, int status, const Record& record,
                     const runtime::Route* route) {
  const Time now = request.services().clock.now();
  Answer answer;
  answer.status = status;
  answer.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  if (is_pending(record)) {
    Duration pause = std::chrono::seconds(1);
    if (route) {
      pause = execution::retry_after_in_progress(
          route->config(), route->metrics().upstream_usually_takes(), record, now);
    }
    answer.headers.push_back({"Retry-After", execution::retry_after_text(pause)});
  }
  if (route) {
    const std::string_view origin = request.message.field("Origin").value_or("");
    std::ranges::move(execution::cors_headers(origin, route->config()),
                      std::back_inserter(answer.headers));
  }
  answer.body = status_json(record, now);
  return answer;
}

// Returns the value of `wait` in the query, a duration or plain seconds.
std::expected<Duration, std::string> wait_of(std::string_view query) {
  Duration wait{0};
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (!pair.starts_with("wait=")) continue;
    const std::string_view value = pair.substr(5);
    if (const auto seconds = config::reading::parse_number(value)) {
      wait = std::chrono::seconds(std::min<std::uint64_t>(*seconds, 3600));
      continue;
    }
    const auto parsed = config::reading::parse_duration(value);
    if (!parsed) return std::unexpected("wait must be a time such as 500ms or 5s.");
    wait = *parsed;
  }
  return std::min(wait, kWaitMax);
}

awaitable<void> not_found(execution::ClientRequest& request) {
  core::Problem problem{.code = core::Code::no_route,
                        .detail = "There is no such operation, or it is not yours.",
                        .new_key_safe = false};
  co_await execution::send_problem(request, problem, nullptr);
}

class StatusLook {
 public:
  StatusLook(execution::ClientRequest& request, execution::Handle handle, std::string tenant,
             Duration wait)
      : request_(request),
        services_(request.services()),
        handle_(std::move(handle)),
        tenant_(std::move(tenant)),
        id_(make_id({request.settings->config.name_space, tenant_, handle_.operation},
                    handle_.key)),
        wait_until_(request.worker.deadlines().now() + wait) {}

  awaitable<void> run() {
    for (;;) {
      auto found = co_await services_.store.read(id_);
      if (!found) {
        core::Problem problem{.code = core::Code::store_unavailable,
                              .detail = "The status cannot be read."};
        co_await execution::send_problem(request_, problem, nullptr);
        co_return;
      }
      if (!*found || !execution::fits(handle_, **found, tenant_)) {
        co_await not_found(request_);
        co_return;
      }
      if (is_pending(**found) && time_left() > Duration{0}) {
        // Many clients may wait for one record; none of them needs to keep it in memory meanwhile.
        const Seen seen{(*found)->token, (*found)->version};
        found->reset();
        co_await wait_for_news(seen);
        continue;
      }
      co_await show(*std::move(found));
      co_return;
    }
  }

 private:
  struct Seen {
    Token token;
    Version version = 0;
  };

  Duration time_left() const {
    if (services_.draining) return Duration{0};
    return std::chrono::duration_cast<Duration>(wait_until_ - request_.worker.deadlines().now());
  }

  // Returns when the record may have changed or the time is over. Woken by push if this process
  // executes the request.
  awaitable<void> wait_for_news(Seen seen) {
    while (time_left() > Duration{0}) {
      const Duration slice = std::min(time_left(), kWaitSlice);
      Waited waited = co_await services_.engine.wait(id_, seen.token, slice);
      if (std::holds_alternative<waited::TimedOut>(waited)) continue;
      if (std::holds_alternative<waited::LookAgain>(waited)) {
        const auto now = co_await services_.store.read(id_);
        const bool still = now && *now && (*now)->version == seen.version;
        if (still) co_await runtime::wait_elsewhere(services_, id_, seen.token, slice);
      }
      co_return;
    }
  }

  awaitable<void> show(RecordPtr record) {
    if (record->state == RecordState::tombstone) {
      core::Problem problem{.code = core::Code::key_expired,
                            .detail = std::string(kExplanations[record->state])};
      co_await execution::send_problem(request_, problem, nullptr);
      co_return;
    }
    const std::vector<std::size_t> routes =
        execution::find_routes(request_.settings->routes, *record);
    if (record->state == RecordState::completed) {
      // If it may have come by several routes, each of them has a say.
      if (routes.empty()) {
        co_await not_found(request_);
        co_return;
      }
      auto shown = std::make_shared<Record>(*record);
      for (const std::size_t route : routes) {
        execution::Viewing viewing{record->id, tenant_};
        const runtime::Route in_route(request_.settings, route);
        if (!co_await execution::may_see(request_, in_route, std::move(viewing))) co_return;
        shown->answer.headers = execution::kept_headers(shown->answer.headers, in_route.config());
      }
      record = std::move(shown);
    }
    std::optional<runtime::Route> route;
    if (!routes.empty()) route.emplace(request_.settings, routes.front());
    const Answer answer = status_answer(request_, 200, *record, route ? &*route : nullptr);
    co_await execution::send_answer(request_, answer, {});
  }

  execution::ClientRequest& request_;
  runtime::Services& services_;
  const execution::Handle handle_;
  const std::string tenant_;
  const RecordId id_;  // of the tenant who asks, whatever the handle says
  const std::chrono::steady_clock::time_point wait_until_;
};

}  // namespace

awaitable<void> send_accepted(execution::ClientRequest& request, const runtime::Route& route,
                              std::string_view key, std::string_view tenant, const Record& record,
                              bool applied) {
  const Answer answer = status_answer(request, 202, record, &route);
  std::vector<Header> extra = execution::echo(key);
  extra.push_back({"Location", execution::status_path(record, tenant, key)});
  if (applied) extra.push_back({"Preference-Applied", "respond-async"});
  co_await execution::send_answer(request, answer, extra);
}

awaitable<void> serve_status(execution::ClientRequest& request) {
  std::optional<Caller> caller = find_caller(request);
  if (!caller) caller.emplace(co_await ask_caller(request));
  if (!*caller) {
    co_await execution::send_problem(request, caller->error(), nullptr);
    co_return;
  }
  const auto wait = wait_of(request.target.query);
  if (!wait) {
    core::Problem problem{.detail = wait.error()};
    co_await execution::send_problem(request, problem, nullptr);
    co_return;
  }
  auto handle = execution::parse_handle(
      std::string_view(request.target.path).substr(config::kOperationsPath.size()), **caller);
  if (!handle) {
    co_await not_found(request);
    co_return;
  }
  StatusLook look(request, *std::move(handle), std::move(**caller), *wait);
  co_await look.run();
}

}  // namespace semel::gateway
