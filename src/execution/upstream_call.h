#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "runtime/spool.h"
#include "runtime/upstreams/upstream_link.h"

namespace semel::execution {

// One execution at the upstream: sends a keyed request once and waits for its answer. If the route
// has several upstreams, the request goes to the first that can be reached.
//
// Never sends the request again once a connection may have taken it. A case that cannot be told
// apart from "taken" is reported as MaybeDelivered or as no answer, never as a failure.
class UpstreamCall {
 public:
  // Says when the end of the connection counts as the end of an answer that has no length.
  // announced: only if the executor said that it would close (Connection: close, or HTTP/1.0), or
  // ended TLS in order; an executor that meant to go on and is gone has not sent everything.
  enum class Ending { announced, any };
  UpstreamCall(runtime::Worker& worker, runtime::Route route, Ending ending);

  struct Sent {};
  // The executor provably did not get the request.
  struct NotDelivered {
    std::string why;
  };
  // Part of the request was sent. `why` and the cause say what ended it.
  struct MaybeDelivered {
    enum class Cause { timeout, broken };
    Cause cause;
    std::string why;
  };
  using SendResult = std::variant<Sent, NotDelivered, MaybeDelivered>;
  // Makes the request's head for an upstream with this base path.
  using MakeHead = std::function<std::string(const std::string& base_path)>;
  boost::asio::awaitable<SendResult> send(MakeHead make_head, const runtime::RequestBody& body);

  enum class Received {
    complete,  // the whole answer is here
    stream,    // the answer has begun and is to be passed on as it comes: take_body(), next_piece()
    timeout,   // not all of it came by the deadline; receive() may be called again
    broken,    // the connection ended, or what came is not HTTP
  };
  boost::asio::awaitable<Received> receive(std::size_t body_bytes_max);

  // Valid after `broken`, or after MaybeDelivered and a receive(). True: the executor provably did
  // not get the request, since it did not accept our certificate.
  bool was_refused() const { return link_ && link_->was_refused(); }

  // Sets a new deadline for everything that follows.
  void set_deadline(Duration from_now) { link_->set_deadline(from_now); }
  const http::Response& response() const { return *response_; }
  // Returns where the request was sent; null: nowhere yet.
  const config::Upstream* upstream() const { return link_ ? &link_.upstream() : nullptr; }
  std::string take_body() { return std::move(body_); }
  // Returns the next piece of a stream; empty at its end.
  boost::asio::awaitable<http::IoResult<std::string_view>> next_piece();
  // Call it when the answer was read to its end: the connection may then serve another request.
  void give_back();

 private:
  enum class Written { all, broken, late, unreadable };
  static MaybeDelivered maybe_delivered(Written written);
  boost::asio::awaitable<Written> write_request(const std::string& head,
                                                const runtime::RequestBody& body,
                                                std::size_t& sent_bytes);

  const runtime::Route route_;
  const Ending ending_;
  runtime::UpstreamLink link_;
  std::optional<http::Response> response_;
  bool sent_whole_ = false;
  bool head_done_ = false;
  std::string body_;
};

}  // namespace semel::execution
