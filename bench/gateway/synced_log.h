#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace semel::bench {

// The least a durable gateway must do: append to a file and fdatasync, everything that waits at
// once as one group. The physical limit that the embedded store is compared with.
class SyncedLog {
 public:
  explicit SyncedLog(const std::string& file);
  ~SyncedLog();

  // Resumes when the bytes are on disk.
  boost::asio::awaitable<void> append(std::string bytes);

 private:
  struct Waiting {
    std::string bytes;
    boost::asio::any_io_executor executor;
    std::move_only_function<void()> resume;
  };
  void run();
  static void deliver(std::vector<Waiting> group);

  int file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiting> queue_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace semel::bench
