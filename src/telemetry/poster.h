#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <expected>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "config/address.h"
#include "http/client.h"
#include "http/deadlines.h"
#include "http/pool.h"

namespace semel::telemetry {

// Posts JSON to one URL from an event loop with a thread of its own, so that neither a slow
// receiver holds up a worker nor a busy worker what is to be sent.
class Poster {
 public:
  // `thread` is shown by debuggers and `top -H`; at most 15 characters. The error is a sentence for
  // the operator.
  static std::expected<std::unique_ptr<Poster>, std::string> start(const config::Url& url,
                                                                   const char* thread);
  ~Poster() { stop(); }

  boost::asio::io_context& context() { return context_; }
  // Posts once. Call it on context(). The error says why there is no answer.
  boost::asio::awaitable<std::expected<http::Client::Answer, std::string>> post(
      std::string body, std::vector<Header> headers = {});
  // Returns the pause after this many failures in a row: what the answer asks for, or one that
  // doubles.
  static Duration pause_after(std::uint32_t failures, Duration max,
                              const std::expected<http::Client::Answer, std::string>& answer);
  // Ends the loop, whatever waits in it, and joins the thread.
  void stop();

 private:
  Poster(config::Url url, std::shared_ptr<const http::TlsClient> tls);

  const config::Url url_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open_;
  http::Deadlines deadlines_;
  http::UpstreamPool pool_;
  std::thread thread_;
};

}  // namespace semel::telemetry
