#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postgres/link.h"

namespace semel::postgres {

using PgReply = std::expected<PgRows, PgError>;

// A prepared statement with its parameters, run as its own transaction.
struct PgCall {
  std::string statement;  // name of the prepared statement
  std::vector<PgValue> parameters;
  std::move_only_function<void(PgReply)> reply;
  std::chrono::steady_clock::time_point deadline;  // without a reply by then the connection ends
};

// A connection to PostgreSQL in pipeline mode, on an event loop: nothing here blocks. Calls are
// sent at once and answered in order. Use on the event loop's thread only.
//
// A reply comes only after the commit. Rows mean that the transaction is durable, an error with a
// SQLSTATE that nothing was written, an error with `lost` that nobody knows. A commit whose wait
// for a synchronous standby was cut short counts as `lost`, and ends the connection.
class PgConnection : public std::enable_shared_from_this<PgConnection> {
 public:
  struct Events {
    std::function<void(const std::string& why)> lost;  // once, after the replies to all calls
    std::function<void(std::string_view payload)> notified;
  };
  // The error is a sentence.
  static std::expected<std::shared_ptr<PgConnection>, std::string> make(
      boost::asio::io_context& context, PgLink link, Events events);
  ~PgConnection();

  void send(PgCall call);
  std::size_t in_flight() const { return calls_.size(); }
  bool is_open() const { return open_; }
  // Closes the connection if a reply is overdue.
  void look_at_deadlines(std::chrono::steady_clock::time_point now);
  // Calls without a reply get an error with `lost`.
  void close(const std::string& why);

 private:
  struct Sent {
    std::move_only_function<void(PgReply)> reply;
    std::chrono::steady_clock::time_point asked_at;
    std::chrono::steady_clock::time_point deadline;
    PgReply outcome = std::unexpected(PgError{.why = "no result", .sqlstate = {}, .lost = false});
    bool has_outcome = false;
  };

  PgConnection(boost::asio::io_context& context, PgLink link, Events events);
  void wait_readable();
  void wait_writable();
  void flush();
  void on_readable();
  // Returns false if the connection is closed.
  bool take_results();
  void take(PGresult* result);
  void take_notifications();
  static void on_notice(void* self, const PGresult* notice);

  PgLink link_;
  boost::asio::posix::stream_descriptor descriptor_;
  Events events_;
  std::deque<Sent> calls_;
  bool open_ = true;
  bool waits_writable_ = false;
  bool not_replicated_ = false;  // a commit did not wait for its synchronous standby
};

}  // namespace semel::postgres
