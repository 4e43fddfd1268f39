#include "stores/reply_post.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <iterator>
#include <utility>

namespace semel::stores {

void ReplyPost::add(boost::asio::any_io_executor executor, std::move_only_function<void()> resume) {
  waiting_.push_back({std::move(executor), std::move(resume)});
}

void ReplyPost::send() {
  if (!waiting_.empty()) deliver(std::exchange(waiting_, {}));
}

void ReplyPost::deliver(All all) {
  const boost::asio::any_io_executor first = all.front().executor;
  if (std::ranges::all_of(all, [&](const One& one) { return one.executor == first; })) {
    boost::asio::post(first, [those = std::move(all)]() mutable { resume_all(std::move(those)); });
    return;
  }
  std::vector<All> by_executor;
  for (One& one : all) {
    auto same = std::ranges::find_if(
        by_executor, [&](const All& other) { return other.front().executor == one.executor; });
    if (same == by_executor.end()) same = by_executor.emplace(same);
    same->push_back(std::move(one));
  }
  for (All& replies : by_executor) {
    const boost::asio::any_io_executor executor = replies.front().executor;
    boost::asio::post(executor,
                      [those = std::move(replies)]() mutable { resume_all(std::move(those)); });
  }
}

void ReplyPost::resume_all(All all) {
  for (auto at = all.begin(); at != all.end(); ++at) {
    try {
      at->resume();
    } catch (...) {
      // The exception belongs to one caller; the others still get their replies.
      All rest(std::make_move_iterator(at + 1), std::make_move_iterator(all.end()));
      if (!rest.empty()) deliver(std::move(rest));
      throw;
    }
  }
}

}  // namespace semel::stores
