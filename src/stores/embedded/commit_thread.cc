// The promise: a caller sees Applied only after the write is on disk. A write or sync that fails
// may or may not have reached the disk, and a second sync could succeed although the pages of the
// first are lost. So the store stops, and acknowledges nothing until it is opened again.
#include "stores/embedded/commit_thread.h"

#include <pthread.h>

#include <algorithm>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <iterator>
#include <utility>

namespace semel::stores {
namespace {

namespace asio = boost::asio;

// A group ends with the swap that takes it past this size, so that a few huge records do not hold
// up the others.
constexpr std::size_t kGroupBytesMax = 8 << 20;

struct Size {
  std::size_t operator()(const SwapRequest& swap) const {
    return swap.next ? swap.next->encoding.size() : 0;
  }
  std::size_t operator()(const PutChunk& put) const { return put.bytes.size(); }
  std::size_t operator()(const DropChunks&) const { return 0; }
};

}  // namespace

CommitThread::CommitThread(EmbeddedDb& db, LocalCache& answers,
                           std::function<void(const GroupCommit&)> committed)
    : writer_(db), answers_(answers), committed_(std::move(committed)), thread_([this] {
        pthread_setname_np(pthread_self(), "semel-commit");
        run();
      }) {}

CommitThread::~CommitThread() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

asio::awaitable<SwapReply> CommitThread::write(WriteRequest request) {
  auto initiate = [this](auto handler, WriteRequest wanted) {
    auto executor = asio::prefer(asio::get_associated_executor(handler),
                                 asio::execution::outstanding_work.tracked);
    enqueue({.request = std::move(wanted),
             .executor = std::move(executor),
             .resume = std::move(handler),
             .reply = {},
             .since = std::chrono::steady_clock::now()});
  };
  return asio::async_initiate<const asio::use_awaitable_t<>, void(SwapReply)>(
      initiate, asio::use_awaitable, std::move(request));
}

std::optional<std::string> CommitThread::trouble() const {
  if (!has_stopped()) return std::nullopt;
  return why_stopped_;
}

void CommitThread::enqueue(Waiting waiting) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = queue_.empty();
    queue_.push_back(std::move(waiting));
  }
  if (first) changed_.notify_one();
}

void CommitThread::run() {
  for (Group group = take(); !group.empty(); group = take()) {
    commit(group);
    deliver(std::move(group));
  }
}

CommitThread::Group CommitThread::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
  std::size_t bytes = 0;
  auto end = queue_.begin();
  while (end != queue_.end() && bytes < kGroupBytesMax) {
    bytes += std::visit(Size{}, end->request);
    ++end;
  }
  Group group(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return group;
}

void CommitThread::commit(Group& group) {
  if (const auto why = trouble()) {
    for (Waiting& waiting : group) waiting.reply = StoreUnavailable{*why};
    return;
  }
  for (Waiting& waiting : group) {
    waiting.reply =
        std::visit([&](const auto& request) { return writer_.apply(request); }, waiting.request);
  }
  const rocksdb::Status status = writer_.commit();
  if (status.ok()) {
    keep_at_hand(group);
    if (committed_) {
      const auto longest = std::chrono::steady_clock::now() - group.front().since;
      committed_({.swaps = group.size(), .longest_wait = longest});
    }
    return;
  }
  stop(status);
  for (Waiting& waiting : group) waiting.reply = swap::Unknown{why_stopped_};
}

void CommitThread::keep_at_hand(Group& group) {
  for (Waiting& waiting : group) {
    auto* swapped = std::get_if<SwapRequest>(&waiting.request);
    const auto* applied = std::get_if<swap::Applied>(&waiting.reply);
    if (!swapped || !applied) continue;
    if (swapped->completed) {
      swapped->completed->id = swapped->id;
      swapped->completed->version = applied->version;
      answers_.written(std::move(swapped->completed));
    } else if (swapped->expected != 0) {  // an absent record was not cached either
      answers_.erased(swapped->id);
    }
  }
}

void CommitThread::stop(const rocksdb::Status& status) {
  why_stopped_ = "store stopped: " + status.ToString() + "; restart after checking the disk";
  stopped_.store(true, std::memory_order_release);
}

void CommitThread::deliver(Group group) {
  std::vector<Group> by_executor;
  for (Waiting& waiting : group) {
    auto same = std::ranges::find_if(by_executor, [&](const Group& other) {
      return other.front().executor == waiting.executor;
    });
    if (same == by_executor.end()) same = by_executor.emplace(same);
    same->push_back(std::move(waiting));
  }
  for (Group& replies : by_executor) {
    const asio::any_io_executor executor = replies.front().executor;
    asio::post(executor, [all = std::move(replies)]() mutable { resume_all(std::move(all)); });
  }
}

void CommitThread::resume_all(Group group) {
  for (auto at = group.begin(); at != group.end(); ++at) {
    try {
      at->resume(std::move(at->reply));
    } catch (...) {
      // The exception belongs to one caller; the others still get their replies.
      Group rest(std::make_move_iterator(at + 1), std::make_move_iterator(group.end()));
      if (!rest.empty()) deliver(std::move(rest));
      throw;
    }
  }
}

}  // namespace semel::stores
