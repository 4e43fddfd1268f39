#include "execution/answer/chunks.h"

#include "base/backoff.h"
#include "telemetry/log.h"

namespace semel::execution {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// A chunk that the store does not take is tried again for 1.5 s altogether. The answer is held up
// meanwhile.
constexpr int kTriesMax = 5;
constexpr Duration kPauseMin = std::chrono::milliseconds(100);
constexpr Duration kPauseMax = std::chrono::milliseconds(800);

}  // namespace

AnswerKeeper::AnswerKeeper(Store& store, Clock& clock, const config::RouteConfig& route,
                           const Record& claim, bool may_spill,
                           std::optional<std::uint64_t> announced_bytes)
    : store_(store),
      clock_(clock),
      stored_bytes_max_(route.max_stored_body),
      spilled_bytes_max_(may_spill && store.features().chunks &&
                                 announced_bytes.value_or(0) <= route.max_spilled_body
                             ? route.max_spilled_body
                             : 0),
      id_(claim.id),
      token_(claim.token) {}

awaitable<void> AnswerKeeper::keep(std::string_view piece) {
  if (note_ == BodyNote::omitted) co_return;
  bytes_ += piece.size();
  if (bytes_ > stored_bytes_max_ && bytes_ > spilled_bytes_max_) {
    co_await give_up();
    co_return;
  }
  held_ += piece;
  if (bytes_ > stored_bytes_max_) {
    note_ = BodyNote::spilled;
    co_await spill(false);
  }
}

awaitable<void> AnswerKeeper::finish(Answer& answer) {
  if (note_ == BodyNote::spilled) co_await spill(true);
  answer.body = std::move(held_);
  answer.body_note = note_;
  answer.spilled_bytes = note_ == BodyNote::spilled ? bytes_ : 0;
}

awaitable<void> AnswerKeeper::discard() {
  if (chunks_ == 0) co_return;
  chunks_ = 0;
  const auto dropped = co_await store_.drop_chunks(id_, token_);
  if (!dropped) {
    // They stay until the next start, which drops chunks that no record refers to.
    telemetry::log_event(config::LogLevel::warn, "chunks could not be dropped",
                         {{"why", dropped.error().why}});
  }
}

// Safe to try again: a chunk that is written again replaces itself.
awaitable<StoreResult<void>> AnswerKeeper::put_chunk(std::uint32_t index, std::string bytes) {
  base::Backoff pauses(kPauseMin, kPauseMax);
  for (int tries = 1;; ++tries) {
    auto put = co_await store_.put_chunk(id_, token_, index, bytes);
    if (put || tries == kTriesMax) co_return put;
    co_await clock_.sleep(pauses.next());
  }
}

awaitable<void> AnswerKeeper::spill(bool all) {
  std::size_t at = 0;
  while (held_.size() - at >= kChunkBytes || (all && held_.size() > at)) {
    std::string chunk = held_.substr(at, kChunkBytes);
    at += chunk.size();
    const auto put = co_await put_chunk(chunks_++, std::move(chunk));
    if (!put) {
      telemetry::log_event(config::LogLevel::warn, "an answer could not be spilled",
                           {{"why", put.error().why}});
      co_await give_up();
      co_return;
    }
  }
  held_.erase(0, at);
}

awaitable<void> AnswerKeeper::give_up() {
  note_ = BodyNote::omitted;
  held_ = {};
  co_await discard();
}

awaitable<StoreResult<void>> send_spilled(ClientRequest& request, const Record& record,
                                          const std::vector<Header>& extra) {
  Store& store = request.services().store;
  auto chunk = co_await store.get_chunk(record.id, record.token, 0);
  if (!chunk) co_return std::unexpected(std::move(chunk.error()));
  if (!*chunk) co_return std::unexpected(StoreUnavailable{"the chunks of an answer are gone"});

  std::string head = answer_head(request, record.answer.status, record.answer.headers, extra,
                                 BodyEnd::length, record.answer.spilled_bytes);
  ClientPace pace(request.limits().body_timeout);
  std::uint64_t left = record.answer.spilled_bytes;
  for (std::uint32_t index = 0;;) {
    const std::string bytes = std::move(**chunk);
    if (bytes.empty() || bytes.size() > left) break;
    left -= bytes.size();
    if (left == 0) request.in_flight.reset();
    const bool head_only = request.message.method() == "HEAD";
    const auto written = co_await write_at_pace(
        request, pace, head, head_only ? std::string_view() : std::string_view(bytes));
    request.client.clear_deadline();
    if (!written) request.keep_alive = false;
    if (!written || head_only || left == 0) co_return StoreResult<void>{};
    head.clear();
    chunk = co_await store.get_chunk(record.id, record.token, ++index);
    if (!chunk || !*chunk) break;
  }
  // The record expired meanwhile, or the disk fails: the client must see that this is not all.
  telemetry::log_event(config::LogLevel::warn, "a replay was cut off",
                       {{"why", chunk ? "its chunks are not whole" : chunk.error().why}});
  cut_off(request);
  co_return StoreResult<void>{};
}

}  // namespace semel::execution
