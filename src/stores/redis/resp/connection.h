#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "http/connection.h"
#include "stores/redis/resp/resp.h"

namespace semel::stores::resp {

// Why a command has no reply.
enum class RespLoss {
  not_sent,  // the connection ended before a byte of it was written
  in_doubt,  // it was written, or part of it: the server may have carried it out
};
using RespResult = std::expected<RespReply, RespLoss>;

// One connection to a Redis server, on which commands are pipelined: each is written as soon as the
// one before it is, and replies come in the order of the commands. Used on one thread only, that of
// its executor.
//
// A server that leaves a command without a reply for `patience` is taken for dead.
class RespConnection : public std::enable_shared_from_this<RespConnection> {
 public:
  using Done = std::move_only_function<void(RespResult)>;

  RespConnection(std::unique_ptr<http::Connection> connection,
                 boost::asio::any_io_executor executor, Duration patience);

  // Begins to read and write; the object then lives until the connection has ended.
  void start();
  // Appends a command. `done` is called once, later, and on the connection's executor.
  void send(std::string_view wire, Done done);
  boost::asio::awaitable<RespResult> call(std::string wire);
  // `take` is called with replies to no command: the messages of a subscription. Set it before
  // start().
  void on_push(std::function<void(const RespReply&)> take) { push_ = std::move(take); }

  // Ends the connection; commands without a reply get a RespLoss.
  void close();
  bool is_open() const { return open_; }
  // Says why it ended, in a phrase for the log.
  const std::string& why() const { return why_; }
  // Returns when it has ended.
  boost::asio::awaitable<void> ended();

 private:
  struct Pending {
    Done done;
    bool is_written = false;
  };

  boost::asio::awaitable<void> read_all();
  boost::asio::awaitable<void> write_all();
  void end(std::string why);
  bool take_replies();

  std::unique_ptr<http::Connection> connection_;
  boost::asio::any_io_executor executor_;
  const Duration patience_;
  RespReader reader_;
  std::deque<Pending> pending_;
  std::size_t unwritten_ = 0;  // of pending_, at its end
  std::string out_;
  std::string writing_;
  boost::asio::steady_timer something_to_write_;
  boost::asio::steady_timer over_;
  std::function<void(const RespReply&)> push_;
  bool open_ = true;
  std::string why_;
};

}  // namespace semel::stores::resp
