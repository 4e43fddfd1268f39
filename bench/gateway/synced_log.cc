#include "synced_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>

namespace semel::bench {
namespace asio = boost::asio;

SyncedLog::SyncedLog(const std::string& file)
    : file_(open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)),
      thread_([this] { run(); }) {
  if (file_ < 0) throw std::runtime_error("cannot open the log");
}

SyncedLog::~SyncedLog() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
  close(file_);
}

asio::awaitable<void> SyncedLog::append(std::string bytes) {
  auto initiate = [this](auto handler, std::string line) {
    auto executor = asio::prefer(asio::get_associated_executor(handler),
                                 asio::execution::outstanding_work.tracked);
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = queue_.empty();
      queue_.push_back({std::move(line), std::move(executor), std::move(handler)});
    }
    if (first) changed_.notify_one();
  };
  return asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable,
                                                                     std::move(bytes));
}

void SyncedLog::run() {
  for (;;) {
    std::vector<Waiting> group;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      group.swap(queue_);
    }
    if (group.empty()) return;
    std::string bytes;
    for (const Waiting& waiting : group) bytes += waiting.bytes;
    if (write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
        fdatasync(file_) != 0) {
      abort();
    }
    deliver(std::move(group));
  }
}

void SyncedLog::deliver(std::vector<Waiting> group) {
  while (!group.empty()) {
    const asio::any_io_executor executor = group.front().executor;
    const auto others = std::ranges::partition(
        group, [&](const Waiting& waiting) { return waiting.executor == executor; });
    std::vector<Waiting> rest(std::make_move_iterator(others.begin()),
                              std::make_move_iterator(others.end()));
    group.erase(others.begin(), group.end());
    asio::post(executor, [all = std::move(group)]() mutable {
      for (Waiting& waiting : all) waiting.resume();
    });
    group = std::move(rest);
  }
}

}  // namespace semel::bench
