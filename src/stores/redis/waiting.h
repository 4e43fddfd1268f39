#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "stores/redis/nodes.h"

namespace semel::stores::redis {

// The waiters for claims that run elsewhere. Tells the server that somebody waits for a record (for
// a few seconds at a time); whoever ends the claim then publishes that. A slow poll finds the ends
// that are published while nobody listens. Use on the store's thread only.
class Waiting {
 public:
  Waiting(const Common& common, Nodes& nodes) : common_(common), nodes_(nodes) {}

  // Returns when the claim may have ended, or after `timeout`.
  boost::asio::awaitable<void> ended(RecordId id, Token token, Duration timeout);
  // `message` was published: an id, then a token.
  void published(std::string_view message);
  // Looks at all claims at once: an end may have been missed.
  void look();
  void close();

 private:
  using Claim = std::pair<RecordId, Token>;
  struct Entry {
    explicit Entry(const boost::asio::any_io_executor& executor) : poll(executor) {}
    boost::asio::steady_timer poll;
    std::list<boost::asio::steady_timer*> waiters;  // each ends its wait by itself, or is cancelled
    bool is_over = false;
  };

  boost::asio::awaitable<void> watch(Claim claim, std::shared_ptr<Entry> entry);
  void end(const Claim& claim);

  const Common& common_;
  Nodes& nodes_;
  std::map<Claim, std::shared_ptr<Entry>> claims_;
  bool closed_ = false;
};

}  // namespace semel::stores::redis
