#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "semel/driver/store.h"
#include "stores/redis/link.h"
#include "stores/redis/scripts.h"

namespace semel::stores::redis {

// One command about one bucket.
struct Command {
  Bucket bucket = 0;
  const Script* script = nullptr;      // null: `arguments` is the whole command
  std::vector<std::string> arguments;  // of a script: the number of its keys, its keys, the rest
  // Returns the command as it goes over the wire. `whole`: with the script itself instead of its
  // name.
  std::string wire(bool whole) const;
};

// There is no answer. Unless `maybe_written`, nothing was written.
struct Failed {
  std::string why;
  bool maybe_written = false;
};
using CallResult = std::expected<Answered, Failed>;

inline StoreUnavailable unavailable(const Failed& failed) {
  return {failed.why};
}

// The servers of a store: one, the one that Sentinels name, or the masters of a Cluster. Sends a
// command to the server that has its bucket, and follows redirections. Use on the store's thread
// only.
class Nodes {
 public:
  Nodes(Common& common, const RedisConfig& config);
  ~Nodes();

  // Makes the first connections. The error is a sentence for the operator.
  boost::asio::awaitable<std::expected<void, std::string>> start();
  // Keeps the connections until close().
  void keep();
  void close();

  boost::asio::awaitable<CallResult> call(Command command);

  // Returns the current server of a bucket; nullopt: it cannot be reached.
  std::optional<RedisAddress> server_of(Bucket bucket) const;
  // Returns why something cannot be reached at the moment; nullopt: all is well.
  std::optional<std::string> trouble() const;
  // Returns the servers that have buckets and can be reached.
  std::vector<const Link*> masters() const;
  // `changed` is called whenever one of these may have changed. Set it before start().
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

 private:
  std::shared_ptr<Link> link_to(const RedisAddress& address);
  void keep_link(const std::shared_ptr<Link>& link);
  boost::asio::awaitable<Outcome> send(const Command& command, std::shared_ptr<Link> link,
                                       bool asking);

  boost::asio::awaitable<std::expected<RedisAddress, std::string>> find_master();
  boost::asio::awaitable<std::expected<RedisAddress, std::string>> ask_sentinel(
      RedisAddress sentinel);
  boost::asio::awaitable<void> follow_sentinels();

  boost::asio::awaitable<std::expected<void, std::string>> load_slots();
  boost::asio::awaitable<std::expected<void, std::string>> load_slots_from(RedisAddress member);
  boost::asio::awaitable<void> follow_slots();
  void look_again();
  boost::asio::awaitable<void> pause(Duration length);

  Common& common_;
  const RedisConfig& config_;
  std::map<RedisAddress, std::shared_ptr<Link>> links_;  // of a Cluster
  std::array<std::shared_ptr<Link>, kBuckets> owners_;
  boost::asio::steady_timer look_;
  bool look_wanted_ = false;
  bool is_kept_ = false;
  bool closed_ = false;
  std::function<void()> changed_;
};

}  // namespace semel::stores::redis
