#include "execution/answer/replay.h"

#include <fmt/format.h>

#include "core/record_bytes.h"
#include "execution/answer/chunks.h"
#include "execution/answer/retry_after.h"
#include "telemetry/log.h"

namespace semel::execution {
namespace asio = boost::asio;
using asio::awaitable;

std::vector<Header> echo(std::string_view key) {
  return {{"Idempotency-Key", quoted_key(key)}};
}

std::vector<Header> echo(std::string_view key, const Record& record) {
  std::vector<Header> headers = echo(key);
  if (record.expires_at != kNever) {
    headers.push_back({"Idempotency-Expires", http::format_date(record.expires_at)});
  }
  return headers;
}

namespace {

enum class Told { first, replayed };

std::int64_t age_seconds(const ClientRequest& request, const Record& record) {
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(request.services().clock.now() -
                                                                    record.updated_at);
  return std::max<std::int64_t>(0, age.count());
}

awaitable<void> send_unreadable(ClientRequest& request, const config::RouteConfig& route,
                                std::string_view key, const RecordId& id, std::string why) {
  telemetry::log_repeating(config::LogLevel::warn, "store unavailable", route.name,
                           {{"route", route.name}, {"why", why}});
  core::Problem problem{.code = core::Code::store_unavailable,
                        .detail =
                            "The recorded answer cannot be read at the moment. Nothing was "
                            "executed. Retry with the same key.",
                        .record = core::shown_id(id)};
  co_await send_problem(request, problem, &route, echo(key));
}

awaitable<void> send_from_chunks(ClientRequest& request, const config::RouteConfig& route,
                                 std::string_view key, const Record& record, Told told) {
  Record shown = record;
  shown.answer.headers = kept_headers(record.answer.headers, route);
  std::vector<Header> extra = echo(key, record);
  if (told == Told::replayed) {
    extra.push_back({route.replayed_header, "true"});
    extra.push_back({"Age", std::to_string(age_seconds(request, record))});
  }
  const auto sent = co_await send_spilled(request, shown, extra);
  if (!sent) co_await send_unreadable(request, route, key, record.id, sent.error().why);
}

constexpr int kStatusMin = 200;

// Writes straight into the head, because every retry costs this.
awaitable<void> send_stored(ClientRequest& request, const config::RouteConfig& route,
                            std::string_view key, const Record& record, Told told) {
  const Answer& answer = record.answer;
  if (answer.body_note == BodyNote::spilled) {
    return send_from_chunks(request, route, key, record, told);
  }
  // Somebody has damaged the record. Sent as a head it would not be HTTP, and the client would
  // wait.
  if (answer.status < kStatusMin) {
    return send_unreadable(request, route, key, record.id, "a completed record has no answer");
  }
  std::string head = begin_head(answer.status, {});
  bool is_dated = false;
  for (const Header& header : answer.headers) {
    if (!is_kept(header.name, route)) continue;
    http::append_header(head, header.name, header.value);
    is_dated = is_dated || http::iequals(header.name, "Date");
  }
  head.append("Idempotency-Key: ");
  append_quoted_key(head, key);
  head.append("\r\n");
  if (record.expires_at != kNever) {
    head.append("Idempotency-Expires: ");
    http::append_date(head, record.expires_at);
    head.append("\r\n");
  }
  if (told == Told::replayed) {
    http::append_header(head, route.replayed_header, "true");
    http::append_header(head, "Age", fmt::format_int(age_seconds(request, record)).c_str());
  }
  if (answer.body_note == BodyNote::omitted) {
    http::append_header(head, "Idempotency-Replay", "body-omitted");
  }
  end_head(request, head, is_dated, answer.status, BodyEnd::length, answer.body.size());
  return send_whole(request, std::move(head), answer);
}

}  // namespace

awaitable<void> send_replay(ClientRequest& request, const config::RouteConfig& route,
                            std::string_view key, const Record& record) {
  return send_stored(request, route, key, record, Told::replayed);
}

awaitable<void> send_committed(ClientRequest& request, const config::RouteConfig& route,
                               std::string_view key, const Record& record) {
  return send_stored(request, route, key, record, Told::first);
}

awaitable<void> send_settled(ClientRequest& request, const config::RouteConfig& route,
                             std::string_view key, const Settled& settled) {
  if (settled.record && settled.record->state == RecordState::completed) {
    co_await send_replay(request, route, key, *settled.record);
  } else {
    co_await send_answer(request, settled.outcome.answer, echo(key));
  }
}

awaitable<void> send_record(ClientRequest& request, const runtime::Route& route,
                            std::string_view key, const RecordPtr& record) {
  const Time now = request.services().clock.now();
  if (record && record->state == RecordState::completed) {
    co_await send_replay(request, route.config(), key, *record);
  } else if (record && record->state == RecordState::in_progress) {
    co_await send_problem(request, in_progress_problem(route, *record, now), &route.config(),
                          echo(key));
  } else {
    co_await send_problem(request, outcome_unknown(route.config(), record.get(), now),
                          &route.config(), echo(key));
  }
}

core::Problem in_progress_problem(const runtime::Route& route, const Record& record, Time now) {
  return {.code = core::Code::in_progress,
          .status = route->status_in_progress,
          .detail =
              "The first request with this key is still being executed. Retry with the same "
              "key.",
          .record = core::shown_id(record.id),
          .retry_after = retry_after_in_progress(
              route.config(), route.metrics().upstream_usually_takes(), record, now)};
}

core::Problem ended_without_answer(const config::RouteConfig& route) {
  return {.code = core::Code::in_progress,
          .status = route.status_in_progress,
          .detail =
              "The execution of the request with this key ended without an answer to give. Retry "
              "with the same key."};
}

core::Problem outcome_unknown(const config::RouteConfig& route, const Record* record, Time now) {
  core::Problem problem{.code = core::Code::outcome_unknown,
                        .detail = std::string(kOutcomeUnknown)};
  if (record) {
    problem.record = core::shown_id(record->id);
    problem.retry_after = retry_after_unknown(route, *record, now);
  }
  return problem;
}

}  // namespace semel::execution
