#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "server/api_listener.h"
#include "server/process.h"
#include "telemetry/history.h"

namespace semel::admin {

// Shows what happens now and happened in the last hour: /api/status, /api/stats, /api/decisions,
// /api/events. Runs on the first worker of the process.
class Live {
 public:
  explicit Live(server::Process& process);

  // Takes a sample each second. Never returns.
  boost::asio::awaitable<void> sample();

  Answer status(const std::string& query, const std::optional<std::string>& who);
  Answer stats(const std::string& query) const;
  Answer decisions(const std::string& query) const;
  // Ends the streams: their readers have to show again that they may read.
  void end_streams() { ++generation_; }
  // Streams until the client goes, the process drains, or end_streams() is called.
  boost::asio::awaitable<Answer> events(server::ApiRequest& asked, std::string query,
                                        std::optional<std::string> who);

 private:
  class Feed;

  server::Process& process_;
  runtime::Services& services_;
  const Time started_at_;
  telemetry::History history_;
  std::uint64_t generation_ = 0;  // of the streams
  // Streams may outlive this object: they end with the worker's loop.
  const std::shared_ptr<std::atomic<std::size_t>> streams_ =
      std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace semel::admin
