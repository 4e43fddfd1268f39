#pragma once

#include <boost/asio/awaitable.hpp>
#include <string_view>

#include "execution/answer/reply.h"

namespace semel::gateway {

// Is told what passes through the proxy. Called on the worker's thread.
class ProxyWatcher {
 public:
  virtual void request_piece(std::string_view piece) noexcept = 0;
  // The whole body has passed.
  virtual void request_done() noexcept = 0;
  // The answer's head has come.
  virtual void answered(const http::Response& response) = 0;
  // The answer has passed whole.
  virtual void answer_done() = 0;
  // The request never reached the upstream.
  virtual void not_delivered() = 0;

 protected:
  ~ProxyWatcher() = default;
};

// Proxies a request without a key: streams it to the route's upstream and the answer back, in
// bounded memory, and keeps nothing. `watcher` may be null. False: the upstream was not asked, and
// the client has been told why.
boost::asio::awaitable<bool> proxy(execution::ClientRequest& request, const runtime::Route& route,
                                   ProxyWatcher* watcher = nullptr);

}  // namespace semel::gateway
