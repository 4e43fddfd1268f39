#include "stores/postgres/thread.h"

#include <pthread.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>

#include "base/random.h"
#include "engine/spawn.h"
#include "engine/system_clock.h"

namespace semel::stores {
namespace asio = boost::asio;
using asio::awaitable;
using namespace std::chrono_literals;

namespace {

constexpr auto kTick = 50ms;
constexpr auto kUpkeepTimeout = 30s;
constexpr auto kStatsEvery = 2s;
constexpr auto kStatsAfterChange = 200ms;
constexpr auto kDaysEvery = 1h;
constexpr auto kDaysAgain = 1min;  // after a failure
constexpr auto kStandbysEvery = 1min;
constexpr auto kOrphansEvery = 1h;
constexpr auto kOrphansPause = 1s;  // between two steps
constexpr std::int32_t kOrphansAtOnce = 500;

std::string some_name() {
  std::string name = "semel-";
  for (std::uint64_t number = base::random_number(); number; number >>= 4) {
    name += "0123456789abcdef"[number & 15];
  }
  return name;
}

PostgresPool::Options pool_options(const PostgresOptions& options) {
  return {.url = options.url,
          .schema = options.schema,
          .connections = options.connections,
          .node = some_name()};
}

}  // namespace

PostgresThread::PostgresThread(PostgresOptions options)
    : open_(context_.get_executor()),
      pool_(context_, pool_options(options), clock_,
            {.changed =
                 [this] {
                   clock_.note_steps(engine::SystemClock());
                   queue_.dispatch();
                 },
             .notified = [this](std::string_view payload) { waits_.notified(payload); },
             .listens = [this] { waits_.look_at_all(); }}),
      queue_(context_, pool_, clock_, std::move(options.committed)),
      waits_(context_, pool_),
      tick_(context_),
      upkeep_(context_),
      warn_(std::move(options.warn)),
      failed_(std::move(options.failed)) {
  pool_.start();
  look_at_deadlines();
  asio::co_spawn(context_, keep_up(), engine::OrStop{"keeping up with PostgreSQL"});
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "semel-postgres");
    context_.run();
  });
}

PostgresThread::~PostgresThread() {
  asio::post(context_, [this] {
    closing_ = true;
    take_work();
    queue_.close();
    pool_.close();
    waits_.close();
    tick_.cancel();
    upkeep_.cancel();
    open_.reset();
  });
  thread_.join();
}

void PostgresThread::hand_over(std::move_only_function<void()> work) {
  bool is_first = false;
  {
    const std::lock_guard lock(work_mutex_);
    is_first = work_.empty();
    work_.push_back(std::move(work));
  }
  if (is_first) asio::post(context_, [this] { take_work(); });
}

void PostgresThread::take_work() {
  std::vector<std::move_only_function<void()>> work;
  {
    const std::lock_guard lock(work_mutex_);
    work.swap(work_);
  }
  for (auto& one : work) one();
  queue_.dispatch();
}

void PostgresThread::post_back(asio::any_io_executor executor,
                               std::move_only_function<void()> resume) {
  replies_.add(std::move(executor), std::move(resume));
  if (std::exchange(posting_, true)) return;
  asio::post(context_, [this] {
    posting_ = false;
    replies_.send();
  });
}

awaitable<postgres::PgReply> PostgresThread::call(const char* statement,
                                                  std::vector<postgres::PgValue> parameters) {
  auto initiate = [this, statement](auto handler, std::vector<postgres::PgValue> values) {
    queue_.call(statement, std::move(values), std::move(handler));
    queue_.dispatch();
  };
  return asio::async_initiate<const asio::use_awaitable_t<>, void(postgres::PgReply)>(
      initiate, asio::use_awaitable, std::move(parameters));
}

awaitable<void> PostgresThread::pause(std::chrono::steady_clock::duration duration) {
  asio::steady_timer timer(context_);
  timer.expires_after(closing_ ? std::chrono::steady_clock::duration{} : duration);
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void PostgresThread::look_at_deadlines() {
  tick_.expires_after(kTick);
  tick_.async_wait([this](boost::system::error_code error) {
    if (error || closing_) return;
    clock_.note_steps(engine::SystemClock());
    pool_.look_at_deadlines();
    queue_.look_at_deadlines();
    look_at_deadlines();
  });
}

StoreStats PostgresThread::stats() const {
  const std::lock_guard lock(stats_mutex_);
  StoreStats stats = stats_;
  stats.removed_records = removed_;
  return stats;
}

// Runs the upkeep on the listening connection, so that records never wait for it. The reply with
// the statistics also tells the server's time.
awaitable<void> PostgresThread::keep_up() {
  bool changed = true;
  while (!closing_) {
    const auto now = std::chrono::steady_clock::now();
    changed |= queue_.take_changed();
    postgres::PgConnection* connection = pool_.listener();
    if (connection && now - stats_at_ >= (changed ? kStatsAfterChange : kStatsEvery)) {
      stats_at_ = now;
      changed = false;
      co_await refresh_stats(*connection);
    } else if (connection && now >= standbys_at_) {
      standbys_at_ = now + kStandbysEvery;
      co_await look_at_standbys(*connection);
    } else if (connection && now >= days_at_) {
      days_at_ = now + kDaysEvery;
      co_await keep_days(*connection);
    } else if (connection && now >= orphans_at_) {
      orphans_at_ = now + kOrphansPause;
      co_await drop_orphans(*connection);
    } else {
      upkeep_.expires_after(kTick);
      boost::system::error_code ignored;
      co_await upkeep_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }
}

awaitable<void> PostgresThread::refresh_stats(postgres::PgConnection& connection) {
  const postgres::PgReply reply =
      co_await pg_call(connection, pg_statement::kStats, {}, kUpkeepTimeout);
  if (!reply) co_return;
  take_time(*reply);
  const std::lock_guard lock(stats_mutex_);
  stats_.unknown_records = static_cast<std::uint64_t>(reply->number(0, 1));
  stats_.oldest_unknown.reset();
  if (!reply->is_null(0, 2)) stats_.oldest_unknown = Time(Duration(reply->number(0, 2)));
}

std::optional<Time> PostgresThread::settled_time() {
  clock_.note_steps(engine::SystemClock());
  const auto now = clock_.at(PostgresClock::Steady::now());
  if (!now) return std::nullopt;
  return clock_.settled(*now);
}

awaitable<void> PostgresThread::keep_days(postgres::PgConnection& connection) {
  const auto until = settled_time();
  if (!until) co_return;
  std::vector<postgres::PgValue> parameters;
  parameters.push_back(postgres::pg_int8(until->time_since_epoch().count()));
  const postgres::PgReply reply =
      co_await pg_call(connection, pg_statement::kKeepDays, std::move(parameters), kUpkeepTimeout);
  if (reply) co_return;
  days_at_ = std::chrono::steady_clock::now() + kDaysAgain;
  tell_of_failure(pg_statement::kKeepDays, reply.error());
}

awaitable<void> PostgresThread::look_at_standbys(postgres::PgConnection& connection) {
  const postgres::PgReply reply =
      co_await pg_call(connection, pg_statement::kStandbys, {}, kUpkeepTimeout);
  if (!reply) co_return tell_of_failure(pg_statement::kStandbys, reply.error());
  const bool may_lose = reply->number(0, 0) != 0;
  if (may_lose && !warned_of_standbys_ && warn_) {
    warn_(
        "PostgreSQL has standbys, but its synchronous_standby_names is empty: a failover loses the "
        "keys that were acknowledged last, and their retries are executed again");
  }
  warned_of_standbys_ = may_lose;
}

void PostgresThread::tell_of_failure(std::string_view call, const postgres::PgError& error) const {
  if (failed_ && !closing_) failed_(call, "PostgreSQL: " + error.why);
}

void PostgresThread::tell_of_unreadable(const UnreadableRecords& unreadable) const {
  if (failed_ && !closing_) failed_("sweep", "PostgreSQL: " + unreadable.describe());
}

awaitable<void> PostgresThread::drop_orphans(postgres::PgConnection& connection) {
  std::vector<postgres::PgValue> parameters;
  parameters.push_back(postgres::pg_int8(orphans_since_));
  parameters.push_back(postgres::pg_int4(kOrphansAtOnce));
  const postgres::PgReply reply = co_await pg_call(connection, pg_statement::kDropOrphans,
                                                   std::move(parameters), kUpkeepTimeout);
  if (!reply) co_return tell_of_failure(pg_statement::kDropOrphans, reply.error());
  const bool is_through = reply->is_null(0, 0);
  orphans_since_ = reply->number(0, 0);
  if (is_through) orphans_at_ = std::chrono::steady_clock::now() + kOrphansEvery;
}

}  // namespace semel::stores
