#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <mutex>
#include <thread>

#include "semel/driver/store.h"
#include "stores/redis/config.h"
#include "stores/redis/listener.h"
#include "stores/redis/nodes.h"
#include "stores/redis/waiting.h"
#include "stores/unreadable_records.h"

namespace semel::stores {

// The thread of a Redis store and everything that lives on it. thread.cc has the calls about one
// record, queries.cc the queries without an id.
class RedisThread {
 public:
  RedisThread(RedisConfig config, RedisUrl url, std::shared_ptr<const http::TlsClient> tls,
              std::function<void(const std::string&)> warn,
              std::function<void(std::string_view call, const std::string& why)> failed);
  ~RedisThread();

  // Connects and begins. The error is a sentence for the operator.
  std::expected<void, std::string> begin();

  // These run on the store's thread.
  boost::asio::awaitable<StoreResult<RecordPtr>> read(RecordId id);
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected, std::string value,
                                          std::string due, std::string unknown_since);
  boost::asio::awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now, std::size_t limit);
  boost::asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                                     std::size_t limit);
  boost::asio::awaitable<StoreResult<void>> put_chunk(RecordId id, Token token, std::uint32_t index,
                                                      std::string bytes);
  boost::asio::awaitable<StoreResult<std::optional<std::string>>> get_chunk(RecordId id,
                                                                            Token token,
                                                                            std::uint32_t index);
  boost::asio::awaitable<StoreResult<void>> drop_chunks(RecordId id, Token token);
  boost::asio::awaitable<bool> ended(RecordId id, Token token, Duration timeout);

  // Any thread.
  StoreStats stats() const;
  StoreDoubts doubts() const;
  std::optional<std::string> trouble() const;
  boost::asio::io_context& io() { return io_; }

 private:
  struct Unknowns {
    std::uint64_t count = 0;
    std::optional<Time> oldest;
  };
  struct Due {
    long long at = 0;
    RecordId id;
  };

  // With the mutex held.
  struct FarClock {
    redis::ServerClock clock;
    std::string at;
  };
  Duration clock_ahead() const;
  Duration ahead_of(const std::optional<FarClock>& far) const;
  StoreDoubts doubts_now() const;
  std::string doubts_sentence() const;

  void run();
  void close();
  void note_trouble();
  // Tells the operator of a doubt that began, that ended, or that has gone on for a while.
  void say_doubts();

  boost::asio::awaitable<std::vector<redis::CallResult>> call_all(
      std::vector<redis::Command> commands);
  // Appends the records to `records` in the order of `ids`, without those that are gone or cannot
  // be read. Returns the latter.
  boost::asio::awaitable<StoreResult<UnreadableRecords>> take_records(
      std::vector<RecordId> ids, std::vector<RecordPtr>& records);
  boost::asio::awaitable<StoreResult<std::vector<Due>>> due_ids(Time now, std::size_t limit);
  // The error says why the unknown records of some bucket were not counted.
  boost::asio::awaitable<std::expected<void, std::string>> count_unknown();
  boost::asio::awaitable<void> keep_counting();
  void note_unknowns(redis::Bucket bucket, const resp::RespReply& count,
                     const resp::RespReply& oldest);

  const RedisConfig config_;
  const std::function<void(const std::string&)> warn_;
  const std::function<void(std::string_view call, const std::string& why)> failed_;
  StoreDoubts said_;  // what the operator was told last, and when
  SteadyTime said_at_{};
  boost::asio::io_context io_{1};
  http::Deadlines deadlines_;
  redis::Common common_;
  redis::Nodes nodes_;
  redis::Waiting waiting_;
  redis::Listener listener_;
  boost::asio::steady_timer count_again_;
  bool closed_ = false;         // on the store's thread
  std::size_t sweep_from_ = 0;  // how many due records the next sweep passes by: none can be read

  mutable std::mutex mutex_;
  std::array<Unknowns, redis::kBuckets> unknowns_;
  std::optional<std::string> trouble_;
  // The servers whose clocks are furthest from ours: the one that our clock is most ahead of, and
  // the one that it is most behind.
  std::optional<FarClock> most_ahead_of_;
  std::optional<FarClock> most_behind_;
  std::string evicting_;       // a sentence; "": no server evicts
  std::string clock_unknown_;  // a sentence; "": every server tells its time
  std::atomic<std::uint64_t> removed_records_ = 0;
  std::thread thread_;
};

}  // namespace semel::stores
