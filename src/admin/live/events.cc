// The promise: a stream costs the gateway a bounded amount, however slow its reader is. What a
// reader does not take in time is skipped and counted, not kept for it.
#include <boost/json/serialize.hpp>

#include "admin/admin_answer.h"
#include "admin/live/live.h"
#include "admin/live/live_json.h"
#include "admin/live/status.h"
#include "admin/parameters.h"

namespace semel::admin {
namespace json = boost::json;
using boost::asio::awaitable;

namespace {

constexpr std::size_t kStreamsMax = 32;
constexpr std::size_t kDecisionsPerSecond = 50;
constexpr Duration kLookEvery = std::chrono::milliseconds(200);
constexpr Duration kStatusEvery = std::chrono::seconds(10);
constexpr Duration kCommentEvery = std::chrono::seconds(15);

}  // namespace

// Keeps how much one reader has got, and finds its next events.
class Live::Feed {
 public:
  Feed(Live& live, std::optional<std::string> who)
      : live_(live),
        who_(std::move(who)),
        points_(live.history_.taken()),
        decisions_(live.services_.decisions.last()) {}

  // Returns the events since the last call. Empty: there are none.
  std::string next(SteadyTime now) {
    std::string out;
    if (now >= status_at_) {
      append(out, "status", status_json(live_.process_, live_.started_at_, who_));
      status_at_ = now + kStatusEvery;
    }
    if (live_.history_.taken() != points_) {
      points_ = live_.history_.taken();
      const auto& points = live_.history_.points(telemetry::History::kSteps.front());
      if (!points.empty()) append(out, "point", point_json(points.back()));
    }
    append_decisions(out, now);
    if (now >= comment_at_) {
      if (comment_at_ != SteadyTime{}) out += ": still here\n\n";
      comment_at_ = now + kCommentEvery;
    }
    return out;
  }

 private:
  static void append(std::string& out, std::string_view event, const json::object& data) {
    out.append("event: ").append(event).append("\ndata: ");
    out.append(json::serialize(data)).append("\n\n");
  }

  void append_decisions(std::string& out, SteadyTime now) {
    if (now >= second_ends_) {
      if (skipped_ > 0) append(out, "skipped", {{"count", std::exchange(skipped_, 0)}});
      second_ends_ = now + std::chrono::seconds(1);
      room_ = kDecisionsPerSecond;
    }
    const std::uint64_t last = live_.services_.decisions.last();
    if (last == decisions_) return;
    const auto found = live_.services_.decisions.latest(decisions_, room_);
    for (const telemetry::RecentDecision& one : found) {
      append(out, "decision", decision_json(one, live_.process_.settings()));
    }
    const std::uint64_t seen = found.empty() ? last : found.back().seq;
    skipped_ += seen - decisions_ - found.size();
    decisions_ = seen;
    room_ -= found.size();
  }

  Live& live_;
  const std::optional<std::string> who_;
  std::uint64_t points_;
  std::uint64_t decisions_;
  std::uint64_t skipped_ = 0;
  std::size_t room_ = kDecisionsPerSecond;
  SteadyTime second_ends_{};
  SteadyTime status_at_{};
  SteadyTime comment_at_{};
};

awaitable<Answer> Live::events(server::ApiRequest& asked, std::string query,
                               std::optional<std::string> who) {
  if (const auto wrong = no_parameters(query)) co_return problem_answer(400, "bad-query", *wrong);
  constexpr const char* kType = "text/event-stream";
  if (asked.message().method() == "HEAD") co_return text_answer(200, "", kType);
  const auto streams = streams_;
  const runtime::Counted counted(*streams);
  if (counted.before() >= kStreamsMax) {
    co_return problem_answer(503, "too-many-streams",
                             "32 streams are open already. Close one, or ask /api/stats.");
  }
  Clock& clock = process_.machine_clock();
  if (!co_await asked.begin_stream({{"Content-Type", kType}, {"Cache-Control", "no-store"}})) {
    co_return Answer{};
  }
  Feed feed(*this, std::move(who));
  const std::uint64_t generation = generation_;
  for (;;) {
    const bool ends = services_.draining || generation != generation_;
    const std::string events = feed.next(clock.steady());
    if (!events.empty() && !co_await asked.send(events)) break;
    if (ends) break;
    co_await clock.sleep(kLookEvery);
  }
  co_return Answer{};
}

}  // namespace semel::admin
