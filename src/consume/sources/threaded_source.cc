#include "consume/sources/threaded_source.h"

#include <utility>

namespace semel::consume {

void ThreadedSource::start(Callbacks callbacks) {
  callbacks_ = std::move(callbacks);
  for (auto& run : threads()) threads_.emplace_back(std::move(run));
}

void ThreadedSource::ack(const DeliveryId& delivery) {
  commands_.put({Command::Kind::ack, delivery});
}

void ThreadedSource::give_back(const DeliveryId& delivery) {
  commands_.put({Command::Kind::give_back, delivery});
}

void ThreadedSource::dead_letter(std::shared_ptr<const BrokerMessage> message, DeadLetter why,
                                 std::function<void(bool)> done) {
  const DeliveryId delivery = message->delivery;
  commands_.put(
      {Command::Kind::dead_letter, delivery, std::move(message), std::move(why), std::move(done)});
}

void ThreadedSource::stop_fetching() {
  fetching_ = false;
  commands_.wake();
}

void ThreadedSource::stop() {
  stop_fetching();
  stopping_ = true;
  commands_.wake();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace semel::consume
