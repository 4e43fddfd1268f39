#include "base/blocking_pool.h"

#include <pthread.h>

namespace semel::base {

BlockingPool::BlockingPool(std::string name, std::size_t threads)
    : context_(static_cast<int>(threads)), open_(context_.get_executor()) {
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this, name] {
      pthread_setname_np(pthread_self(), name.c_str());
      context_.run();
    });
  }
}

BlockingPool::~BlockingPool() {
  open_.reset();
}

}  // namespace semel::base
