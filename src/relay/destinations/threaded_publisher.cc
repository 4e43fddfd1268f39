#include "relay/destinations/threaded_publisher.h"

#include <poll.h>

#include <utility>

namespace semel::relay {

ThreadedPublisher::ThreadedPublisher(std::string name, const config::BrokerTarget& target)
    : name_(std::move(name)), target_(target) {}

void ThreadedPublisher::begin(std::function<void()> run) {
  thread_ = std::thread(std::move(run));
}

void ThreadedPublisher::end() {
  stopping_ = true;
  waiting_.wake();
  thread_.join();
}

void ThreadedPublisher::publish(std::shared_ptr<Publication> publication) {
  waiting_.put(std::move(publication));
}

void ThreadedPublisher::refuse_waiting(const std::string& why) {
  for (const Waiting& publication : waiting_.take()) publication->settle(Retry{why});
}

void ThreadedPublisher::rest(std::chrono::milliseconds pause, const std::string& why) {
  const auto until = std::chrono::steady_clock::now() + pause;
  for (auto now = std::chrono::steady_clock::now(); !stopping_ && now < until;
       now = std::chrono::steady_clock::now()) {
    refuse_waiting(why);
    wait(std::chrono::ceil<std::chrono::milliseconds>(until - now));
  }
  refuse_waiting(why);
}

void ThreadedPublisher::wait(std::chrono::milliseconds timeout, int other) {
  pollfd waits[2] = {{waiting_.descriptor(), POLLIN, 0}, {other, POLLIN, 0}};
  poll(waits, 2, static_cast<int>(timeout.count()));
}

}  // namespace semel::relay
