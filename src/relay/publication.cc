#include "relay/publication.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace semel::relay {
namespace asio = boost::asio;

void Publication::settle(Outcome outcome) {
  asio::post(timer_.get_executor(),
             [self = shared_from_this(), outcome = std::move(outcome)]() mutable {
               if (self->outcome_) return;
               self->outcome_ = std::move(outcome);
               self->timer_.cancel();
             });
}

asio::awaitable<Outcome> Publication::outcome(Duration timeout) {
  const auto self = shared_from_this();
  if (!outcome_) {
    timer_.expires_after(timeout);
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  if (outcome_) co_return *std::move(outcome_);
  abandoned_ = true;
  outcome_ = Retry{"the broker did not confirm it in time"};
  co_return *outcome_;
}

}  // namespace semel::relay
