#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "http/deadlines.h"
#include "http/tls.h"
#include "stores/redis/config.h"
#include "stores/redis/health.h"
#include "stores/redis/layout.h"
#include "stores/redis/resp/connection.h"

namespace semel::stores::redis {

// Shared by all connections of a store. Outlives them.
struct Common {
  boost::asio::any_io_executor executor;
  http::Deadlines& deadlines;
  RedisUrl url;  // its address is not used
  std::shared_ptr<const http::TlsClient> tls;
  std::size_t replicas = 0;
  bool is_cluster = false;
  bool is_cache = false;                         // the servers may forget
  std::function<void(const std::string&)> warn;  // a sentence for the operator; never empty
  std::function<void()> looked = {};             // a server was inspected
  // Every connection that was made, so that everything that waits for one can be ended.
  using Made = std::vector<std::weak_ptr<resp::RespConnection>>;
  std::shared_ptr<Made> made = std::make_shared<Made>();
};
void close_all(const Common& common);

// Returns the TLS client to connect with; null for redis://. The error is a sentence for the
// operator.
std::expected<std::shared_ptr<const http::TlsClient>, std::string> tls_for(
    const RedisUrl& url, const RedisConfig& config);

// The outcome of a command: a reply, or one of the two below.
struct Answered {
  resp::RespReply reply;
  // Whether `replicas` replicas are known to have what was written, and what was read, by then.
  bool write_is_replicated = true;
  bool read_is_replicated = true;
};
struct NotSent {
  std::string why;
};
// The command was sent, and there is no reply: it may have been carried out.
struct InDoubt {
  std::string why;
};
using Outcome = std::variant<Answered, NotSent, InDoubt>;

// Connects and sets the connection up: TLS, user, database. The error is a phrase for the log.
boost::asio::awaitable<std::expected<std::shared_ptr<resp::RespConnection>, std::string>>
connect_to(const Common& common, RedisAddress address,
           std::function<void(const resp::RespReply&)> on_push = {});

// A server's own report when it was last inspected.
struct Health {
  std::string evicts;  // the policy by which it removes records at will; "": it does not
  // The error is a phrase that says why its clock is not known, and what to do.
  std::expected<ServerClock, std::string> clock = std::unexpected("has not told its time yet");
};

// A connection to one Redis server that takes commands, reopened whenever it ends. Does not use a
// replica. Use on the store's thread only.
//
// Asks the server at every connect and every few seconds what it would forget, and what time it
// has: settings are changed while it runs, and clocks are set.
//
// With replicas, commands are sent in groups: all waiting commands with a WAIT behind them, and
// nothing else until the WAIT is answered. A small write before the WAIT, the proof, makes it cover
// reads as well, since WAIT only waits for what its own connection has written.
class Link : public std::enable_shared_from_this<Link> {
 public:
  // Returns where the server is now; called before every attempt to connect.
  using Find = std::function<boost::asio::awaitable<std::expected<RedisAddress, std::string>>()>;

  Link(const Common& common, Find find);

  // Tries to connect once. The error is a phrase.
  boost::asio::awaitable<std::expected<void, std::string>> connect();
  // keep() keeps it connected until close(); watch() inspects the server.
  boost::asio::awaitable<void> keep();
  boost::asio::awaitable<void> watch();
  void close();
  // Ends the connection, so that a new one is made: the server says that it is not the one for us.
  void reconnect();

  // Sends a command. `bucket` says where a proof may be written. With `asking`, sends ASKING before
  // it.
  boost::asio::awaitable<Outcome> call(Bucket bucket, std::string wire, bool asking = false);

  bool is_up() const { return connection_ && connection_->is_open(); }
  const std::string& why_down() const { return why_down_; }
  bool was_tried() const { return was_tried_; }
  const Health& health() const { return health_; }
  // Returns the address of the connection: where the server was last found.
  const RedisAddress& address() const { return address_; }
  // `changed` is called when it is connected, and when it no longer is.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

 private:
  struct Grouped {
    Bucket bucket;
    std::string wire;
    bool asking = false;
    std::move_only_function<void(Outcome)> done;
    std::optional<resp::RespResult> result = {};
  };
  struct Group;

  boost::asio::awaitable<std::expected<void, std::string>> prepare(resp::RespConnection& to);
  boost::asio::awaitable<std::expected<void, std::string>> require_master(resp::RespConnection& to);
  boost::asio::awaitable<std::expected<void, std::string>> inspect(resp::RespConnection& to);
  boost::asio::awaitable<std::expected<void, std::string>> compare_clocks(resp::RespConnection& to);
  boost::asio::awaitable<std::expected<void, std::string>> look_at_settings(
      resp::RespConnection& to, std::vector<std::string>& warnings);
  void send_group();
  void finish_group(Group& group);

  const Common& common_;
  Find find_;
  std::shared_ptr<resp::RespConnection> connection_;
  RedisAddress address_;
  std::string why_down_ = "not connected yet";
  Health health_;
  std::set<std::string> warned_;  // of findings that still hold
  boost::asio::steady_timer pause_;
  boost::asio::steady_timer look_again_;
  std::function<void()> changed_;
  std::vector<Grouped> waiting_;
  bool group_is_out_ = false;
  bool was_tried_ = false;
  bool closed_ = false;
};

}  // namespace semel::stores::redis
