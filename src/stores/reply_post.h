#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <vector>

namespace semel::stores {

// Returns results to those who wait for them: gathers them, then makes one post per executor. For
// one thread.
class ReplyPost {
 public:
  void add(boost::asio::any_io_executor executor, std::move_only_function<void()> resume);
  bool empty() const { return waiting_.empty(); }
  void send();

 private:
  struct One {
    boost::asio::any_io_executor executor;  // counts as outstanding work
    std::move_only_function<void()> resume;
  };
  using All = std::vector<One>;
  static void deliver(All all);
  static void resume_all(All all);

  All waiting_;
};

}  // namespace semel::stores
