// The promise: a caller sees Applied only after the server has the write and, with `replicas`, only
// after that many of its replicas have it; the writes of others that it is shown are as safe. A
// write whose reply is lost is never taken for one that did not happen.
#include "stores/redis/thread.h"

#include <pthread.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <utility>

#include "engine/spawn.h"
#include "engine/system_clock.h"

namespace semel::stores {
namespace asio = boost::asio;
using asio::awaitable;
using redis::CallResult;
using redis::Command;

namespace {

// Chunks that no record came to refer to expire after this. Each new chunk prolongs the others.
constexpr Duration kUnclaimedChunksFor = std::chrono::hours(24);
// How often at most the operator is told of a doubt that comes and goes, and how often of one that
// goes on.
constexpr Duration kSayChangesEvery = std::chrono::seconds(10);
constexpr Duration kSayAgainAfter = std::chrono::minutes(5);
// Time for calls that are under way when the store is closed: longer than connecting may take.
constexpr auto kCloseTimeout = std::chrono::seconds(3);

StoreUnavailable not_replicated() {
  return {"too few replicas of Redis have acknowledged what was read"};
}

StoreUnavailable strange_reply() {
  return {"Redis returned a reply that its script does not produce"};
}

redis::Instant instant_now() {
  const engine::SystemClock clock;
  return {.wall = clock.now(), .steady = clock.steady()};
}

}  // namespace

// --- its life ------------------------------------------------------------------------------------

RedisThread::RedisThread(RedisConfig config, RedisUrl url,
                         std::shared_ptr<const http::TlsClient> tls,
                         std::function<void(const std::string&)> warn,
                         std::function<void(std::string_view call, const std::string& why)> failed)
    : config_(std::move(config)),
      warn_(std::move(warn)),
      failed_(std::move(failed)),
      deadlines_(io_.get_executor()),
      common_{.executor = io_.get_executor(),
              .deadlines = deadlines_,
              .url = std::move(url),
              .tls = std::move(tls),
              .replicas = config_.replicas,
              .is_cluster = !config_.cluster.empty(),
              .warn =
                  [this](const std::string& what) {
                    if (warn_) warn_(what);
                  },
              .looked = [this] { note_trouble(); }},
      nodes_(common_, config_),
      waiting_(common_, nodes_),
      listener_(common_, nodes_, waiting_),
      count_again_(io_) {
  nodes_.on_change([this] {
    note_trouble();
    listener_.look();
  });
}

std::expected<void, std::string> RedisThread::begin() {
  std::promise<std::expected<void, std::string>> promise;
  auto begun = promise.get_future();
  auto start = [this]() -> awaitable<std::expected<void, std::string>> {
    auto started = co_await nodes_.start();
    if (!started) co_return started;
    const auto counted = co_await count_unknown();
    // A slot of a Cluster that is being moved is no reason not to start: the others are there.
    const bool may_pass =
        common_.is_cluster && !counted && counted.error().find("NOPERM") == std::string::npos;
    if (!counted && !may_pass) {
      co_return std::unexpected(
          "Redis does not run the store's scripts; check the rights of its user (ACL): " +
          counted.error());
    }
    nodes_.keep();
    asio::co_spawn(io_, listener_.keep(), engine::OrStop{"listening to Redis"});
    asio::co_spawn(io_, keep_counting(), engine::OrStop{"counting in Redis"});
    co_return started;
  };
  asio::co_spawn(io_, deadlines_.run(), engine::OrStop{"watching Redis"});
  asio::co_spawn(io_, start, [&](std::exception_ptr failed, std::expected<void, std::string> how) {
    if (failed) {
      promise.set_exception(failed);
    } else {
      promise.set_value(std::move(how));
    }
  });
  thread_ = std::thread([this] { run(); });
  return begun.get();
}

void RedisThread::run() {
  pthread_setname_np(pthread_self(), "semel-redis");
  io_.run();
}

RedisThread::~RedisThread() {
  if (!thread_.joinable()) return;
  asio::post(io_, [this] { io_.stop(); });
  thread_.join();
  io_.restart();
  close();
  io_.run_for(kCloseTimeout);
}

void RedisThread::close() {
  closed_ = true;
  waiting_.close();
  listener_.close();
  nodes_.close();
  redis::close_all(common_);
  count_again_.cancel();
  deadlines_.stop();
}

void RedisThread::note_trouble() {
  auto trouble = nodes_.trouble();
  const redis::Instant now = instant_now();
  std::optional<FarClock> most_ahead_of;
  std::optional<FarClock> most_behind;
  std::string evicting;
  std::string clock_unknown;
  for (const redis::Link* master : nodes_.masters()) {
    const redis::Health& health = master->health();
    if (health.clock) {
      const Duration ahead = health.clock->ahead(now);
      const FarClock far{*health.clock, master->address().text()};
      if (!most_ahead_of || ahead > most_ahead_of->clock.ahead(now)) most_ahead_of = far;
      if (!most_behind || ahead < most_behind->clock.ahead(now)) most_behind = far;
    } else {
      clock_unknown = "Redis at " + master->address().text() + " " + health.clock.error() +
                      ", so it is not known whether its clock agrees with that of this machine: "
                      "until it is, nothing expires and no lease runs out, and nothing new is "
                      "executed";
    }
    if (!health.evicts.empty()) {
      evicting = "the maxmemory-policy of Redis at " + master->address().text() + " is " +
                 health.evicts +
                 ", which removes records at will: nothing new is executed until it is noeviction";
    }
  }
  {
    const std::lock_guard lock(mutex_);
    trouble_ = std::move(trouble);
    most_ahead_of_ = std::move(most_ahead_of);
    most_behind_ = std::move(most_behind);
    evicting_ = std::move(evicting);
    clock_unknown_ = std::move(clock_unknown);
  }
  say_doubts();
}

void RedisThread::say_doubts() {
  StoreDoubts doubts;
  std::string sentence;
  {
    const std::lock_guard lock(mutex_);
    doubts = doubts_now();
    sentence = doubts_sentence();
  }
  const SteadyTime now = engine::SystemClock().steady();
  const bool has_changed = doubts.clock != said_.clock || doubts.claims != said_.claims;
  const bool is_any = doubts.clock || doubts.claims;
  const auto due = after(said_at_, has_changed ? kSayChangesEvery : kSayAgainAfter);
  if (!(has_changed || is_any) || (said_at_ != SteadyTime{} && now < due)) return;
  said_ = doubts;
  said_at_ = now;
  if (!warn_) return;
  warn_(is_any ? sentence
               : "the clocks of Redis and of this machine agree, and Redis evicts nothing: back to "
                 "normal");
}

Duration RedisThread::ahead_of(const std::optional<FarClock>& far) const {
  return far ? far->clock.ahead(instant_now()) : Duration{};
}

// Returns how far our clock is ahead of the server's clock that differs most.
Duration RedisThread::clock_ahead() const {
  const Duration ahead = ahead_of(most_ahead_of_);
  const Duration behind = ahead_of(most_behind_);
  return abs(behind) > abs(ahead) ? behind : ahead;
}

// If our clock is behind, a claim made now would end too early by everybody else's clock, and a
// record completed now would be swept too early. If it is ahead, they only last longer, and no harm
// is done. If a server does not tell its time, our clock may be either.
StoreDoubts RedisThread::doubts_now() const {
  const bool may_be_behind =
      !clock_unknown_.empty() || ahead_of(most_behind_) < -redis::kClocksAgreeWithin;
  return {.clock = may_be_behind || ahead_of(most_ahead_of_) > redis::kClocksAgreeWithin,
          .claims = may_be_behind || !evicting_.empty()};
}

std::string RedisThread::doubts_sentence() const {
  std::string sentence = evicting_;
  if (!sentence.empty() && !clock_unknown_.empty()) sentence += "; ";
  sentence += clock_unknown_;
  const auto add = [&](const std::optional<FarClock>& far, std::string_view how,
                       std::string_view then) {
    if (!sentence.empty()) sentence += "; ";
    sentence += "the clock of this machine is " + redis::in_words(ahead_of(far));
    sentence.append(how).append(" that of Redis at " + far->at).append(then);
  };
  if (ahead_of(most_ahead_of_) > redis::kClocksAgreeWithin) {
    add(most_ahead_of_, " ahead of", ": until they agree, nothing expires and no lease runs out");
  }
  if (ahead_of(most_behind_) < -redis::kClocksAgreeWithin) {
    add(most_behind_, " behind",
        ": until they agree, nothing expires and no lease runs out, and nothing new is executed");
  }
  return sentence;
}

// --- on the store's thread -----------------------------------------------------------------------

awaitable<StoreResult<RecordPtr>> RedisThread::read(RecordId id) {
  Command command{.bucket = redis::bucket_of(id), .arguments = {"GET", redis::record_key(id)}};
  const CallResult result = co_await nodes_.call(std::move(command));
  if (!result) co_return std::unexpected(unavailable(result.error()));
  if (!result->read_is_replicated) co_return std::unexpected(not_replicated());
  if (result->reply.is_nil()) co_return nullptr;
  co_return redis::from_value(id, result->reply.text());
}

awaitable<SwapResult> RedisThread::swap(RecordId id, Version expected, std::string value,
                                        std::string due, std::string unknown_since) {
  const redis::Bucket bucket = redis::bucket_of(id);
  Command command{
      .bucket = bucket,
      .script = &redis::swap_script(),
      .arguments = {"6", redis::record_key(id), redis::due_key(bucket), redis::ids_key(bucket),
                    redis::unknown_key(bucket), redis::waiting_key(id), redis::channel(bucket),
                    redis::raw_version(expected), std::move(value), redis::raw(id), std::move(due),
                    std::move(unknown_since), common_.is_cluster ? "SPUBLISH" : "PUBLISH"}};
  const CallResult result = co_await nodes_.call(std::move(command));
  if (!result) {
    if (result.error().maybe_written) co_return swap::Unknown{result.error().why};
    co_return unavailable(result.error());
  }
  const resp::RespReply& reply = result->reply;
  const auto applied = reply.at(0).number();
  if (applied == 1) {
    if (reply.size() == 3) note_unknowns(bucket, reply.at(1), reply.at(2));
    if (!result->write_is_replicated) {
      co_return swap::Unknown{"too few replicas of Redis have acknowledged a write"};
    }
    co_return swap::Applied{};
  }
  if (applied != 0) co_return swap::Unknown{strange_reply().why};
  if (!result->read_is_replicated) co_return not_replicated();
  if (reply.size() == 1) co_return swap::Conflict{};
  auto record = redis::from_value(id, reply.at(1).text());
  if (!record) co_return std::move(record.error());
  co_return swap::Conflict{*std::move(record)};
}

awaitable<StoreResult<void>> RedisThread::put_chunk(RecordId id, Token token, std::uint32_t index,
                                                    std::string bytes) {
  const std::string key = redis::chunks_key(id, token);
  Command put{.bucket = redis::bucket_of(id),
              .arguments = {"HSET", key, std::to_string(index), std::move(bytes)}};
  Command keep{.bucket = redis::bucket_of(id),
               .arguments = {"PEXPIRE", key, std::to_string(kUnclaimedChunksFor.count())}};
  std::vector<Command> both;
  both.push_back(std::move(put));
  both.push_back(std::move(keep));
  const std::vector<CallResult> results = co_await call_all(std::move(both));
  for (const CallResult& result : results) {
    if (!result) co_return std::unexpected(unavailable(result.error()));
    if (!result->write_is_replicated) co_return std::unexpected(not_replicated());
  }
  co_return StoreResult<void>{};
}

awaitable<StoreResult<std::optional<std::string>>> RedisThread::get_chunk(RecordId id, Token token,
                                                                          std::uint32_t index) {
  Command command{.bucket = redis::bucket_of(id),
                  .arguments = {"HGET", redis::chunks_key(id, token), std::to_string(index)}};
  const CallResult result = co_await nodes_.call(std::move(command));
  if (!result) co_return std::unexpected(unavailable(result.error()));
  if (result->reply.is_nil()) co_return std::nullopt;
  co_return std::string(result->reply.text());
}

awaitable<StoreResult<void>> RedisThread::drop_chunks(RecordId id, Token token) {
  Command command{.bucket = redis::bucket_of(id),
                  .arguments = {"UNLINK", redis::chunks_key(id, token)}};
  const CallResult result = co_await nodes_.call(std::move(command));
  if (!result) co_return std::unexpected(unavailable(result.error()));
  co_return StoreResult<void>{};
}

awaitable<bool> RedisThread::ended(RecordId id, Token token, Duration timeout) {
  co_await waiting_.ended(id, token, timeout);
  co_return true;
}

}  // namespace semel::stores
