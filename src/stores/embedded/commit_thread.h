#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "semel/driver/store.h"
#include "stores/cache/local_cache.h"
#include "stores/embedded/writer.h"
#include "stores/group_commit.h"

namespace semel::stores {

// The only writer of an embedded store. Takes all waiting swaps, commits them as one group, and
// posts the replies to the executors they came from, one post per executor. Any thread may call.
// The destructor commits the writes that still wait.
class CommitThread {
 public:
  // `committed` is called for every group; may be empty. `answers` is told of every write after it
  // is durable and before its caller gets the reply.
  CommitThread(EmbeddedDb& db, LocalCache& answers,
               std::function<void(const GroupCommit&)> committed);
  ~CommitThread();

  // Keeps the caller's executor from running out of work while the write waits. Cannot be
  // cancelled.
  boost::asio::awaitable<SwapReply> write(WriteRequest request);

  // See EmbeddedWriter.
  std::optional<Head> in_progress_head(const RecordId& id) const {
    return writer_.in_progress_head(id);
  }
  // See Sighting.
  std::uint64_t committed() const { return writer_.committed(); }
  StoreStats stats() const { return writer_.stats(); }
  bool has_stopped() const { return stopped_.load(std::memory_order_acquire); }
  // Returns why the store has stopped; nullopt: it has not.
  std::optional<std::string> trouble() const;

 private:
  struct Waiting {
    WriteRequest request;
    boost::asio::any_io_executor executor;  // counts as outstanding work
    std::move_only_function<void(SwapReply)> resume;
    SwapReply reply;
    std::chrono::steady_clock::time_point since;
  };
  using Group = std::vector<Waiting>;

  void enqueue(Waiting waiting);
  void run();
  // Waits for the next group and returns it. Empty: the thread must end.
  Group take();
  void commit(Group& group);
  void keep_at_hand(Group& group);
  void stop(const rocksdb::Status& status);
  static void deliver(Group group);
  static void resume_all(Group group);

  EmbeddedWriter writer_;
  LocalCache& answers_;
  std::function<void(const GroupCommit&)> committed_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> queue_;
  bool closing_ = false;

  std::atomic<bool> stopped_ = false;
  std::string why_stopped_;  // set before stopped_, never changed after

  std::thread thread_;
};

}  // namespace semel::stores
