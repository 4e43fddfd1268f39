#pragma once

#include <atomic>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "semel/driver/store.h"
#include "stores/postgres/clock.h"
#include "stores/postgres/options.h"
#include "stores/postgres/pool.h"
#include "stores/postgres/queue.h"
#include "stores/postgres/waits.h"
#include "stores/reply_post.h"
#include "stores/unreadable_records.h"

namespace semel::stores {

// The thread of a PostgreSQL store. Everything that talks to the database runs here, on one event
// loop.
class PostgresThread {
 public:
  template <typename Result>
  using Reply = std::move_only_function<void(Result)>;

  explicit PostgresThread(PostgresOptions options);
  ~PostgresThread();

  // Any thread. Calls begin(Reply<Result>) on the store's thread, and resumes the caller on its own
  // executor when the reply is called there.
  template <typename Result, typename Begin>
  boost::asio::awaitable<Result> ask(Begin begin) {
    auto initiate = [this](auto handler, Begin wanted) {
      auto executor = boost::asio::prefer(boost::asio::get_associated_executor(handler),
                                          boost::asio::execution::outstanding_work.tracked);
      Reply<Result> reply = [this, executor = std::move(executor),
                             handler = std::move(handler)](Result result) mutable {
        post_back(std::move(executor),
                  [handler = std::move(handler), result = std::move(result)]() mutable {
                    std::move(handler)(std::move(result));
                  });
      };
      hand_over([wanted = std::move(wanted), reply = std::move(reply)]() mutable {
        wanted(std::move(reply));
      });
    };
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(Result)>(
        initiate, boost::asio::use_awaitable, std::move(begin));
  }

  // Any thread. Runs the coroutine that make() returns on the store's thread.
  template <typename Result, typename Make>
  boost::asio::awaitable<Result> run(Make make) {
    auto begin = [this, make = std::move(make)](Reply<Result> reply) mutable {
      auto done = [reply = std::move(reply)](std::exception_ptr failed, Result result) mutable {
        if (failed) std::rethrow_exception(failed);
        reply(std::move(result));
      };
      boost::asio::co_spawn(context_, make(), std::move(done));
    };
    return ask<Result>(std::move(begin));
  }

  // On the store's thread.
  PostgresQueue& queue() { return queue_; }
  PostgresWaits& waits() { return waits_; }
  boost::asio::awaitable<postgres::PgReply> call(const char* statement,
                                                 std::vector<postgres::PgValue> parameters);
  boost::asio::awaitable<void> pause(std::chrono::steady_clock::duration duration);
  void count_removed(std::uint64_t records) { removed_ += records; }
  void tell_of_unreadable(const UnreadableRecords& unreadable) const;
  // How many of the due records the next sweep passes by: a sweep that ran out of time has found
  // that they cannot be read.
  std::size_t& sweep_from() { return sweep_from_; }

  // Any thread.
  PostgresPool& pool() { return pool_; }
  const PostgresPool& pool() const { return pool_; }
  const PostgresClock& clock() const { return clock_; }
  // Takes the time from rows that begin with the server's time. On the store's thread.
  void take_time(const postgres::PgRows& rows) {
    if (rows.size() == 0) return;
    clock_.saw(rows.number(0, 0), rows.asked_at, std::chrono::steady_clock::now());
  }
  // Returns the time until which the server may remove records by its own clock. If that clock was
  // set forward, records that are past their time only by that step are left to the engine, which
  // knows when a record was stamped. nullopt: the server has not told its time yet.
  std::optional<Time> settled_time();
  StoreStats stats() const;

 private:
  void hand_over(std::move_only_function<void()> work);
  void take_work();
  void post_back(boost::asio::any_io_executor executor, std::move_only_function<void()> resume);
  void look_at_deadlines();
  void tell_of_failure(std::string_view call, const postgres::PgError& error) const;

  boost::asio::awaitable<void> keep_up();
  boost::asio::awaitable<void> refresh_stats(postgres::PgConnection& connection);
  boost::asio::awaitable<void> keep_days(postgres::PgConnection& connection);
  boost::asio::awaitable<void> look_at_standbys(postgres::PgConnection& connection);
  boost::asio::awaitable<void> drop_orphans(postgres::PgConnection& connection);

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open_;
  PostgresClock clock_;
  ReplyPost replies_;
  PostgresPool pool_;
  PostgresQueue queue_;
  PostgresWaits waits_;
  boost::asio::steady_timer tick_;
  boost::asio::steady_timer upkeep_;
  const std::function<void(const std::string&)> warn_;
  const std::function<void(std::string_view, const std::string&)> failed_;
  bool closing_ = false;
  bool posting_ = false;
  bool warned_of_standbys_ = false;
  std::chrono::steady_clock::time_point stats_at_{};
  std::chrono::steady_clock::time_point days_at_{};
  std::chrono::steady_clock::time_point standbys_at_{};
  std::chrono::steady_clock::time_point orphans_at_{};
  std::int64_t orphans_since_ = 0;
  std::size_t sweep_from_ = 0;

  std::mutex work_mutex_;
  std::vector<std::move_only_function<void()>> work_;

  mutable std::mutex stats_mutex_;
  StoreStats stats_;
  std::atomic<std::uint64_t> removed_ = 0;

  std::thread thread_;
};

}  // namespace semel::stores
