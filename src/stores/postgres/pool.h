#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/blocking_pool.h"
#include "postgres/connection.h"
#include "stores/postgres/clock.h"
#include "stores/postgres/session.h"

namespace semel::stores {

// Opens and maintains the connections of a store, and reopens them with backoff when they end. A
// connection is used only after a write of its own was committed through it: after a crash of the
// server rows may be visible that its synchronous standby does not have yet, and that commit waits
// for them. Call all but first_outcome() and trouble() on the event loop's thread.
class PostgresPool {
 public:
  struct Options {
    std::string url;
    std::string schema;
    std::size_t connections = 1;  // for records; one more listens
    std::string node;             // names this process in the database
  };
  struct Events {
    std::function<void()> changed;  // a connection has come or gone
    std::function<void(std::string_view)> notified;
    std::function<void()> listens;  // the listening connection has come
  };
  PostgresPool(boost::asio::io_context& context, Options options, PostgresClock& clock,
               Events events);

  void start();
  // Ends all connections and all attempts to connect.
  void close();

  // A connection for records that takes another call: an idle one or, for a batch that is
  // worth it, one that is still busy with its last call. nullopt: none has room.
  struct Room {
    postgres::PgConnection& connection;
    PgItemTypes item_types;
  };
  std::optional<Room> with_room(bool worth_it);
  bool has_any() const;
  // Returns the listening connection; null: it is away.
  postgres::PgConnection* listener();
  void look_at_deadlines();

  // Blocks until the first connection was used, or could not be, and returns the error; nullopt: it
  // was used. Any thread.
  std::optional<PgSessionError> first_outcome();
  // Returns why there is no connection for records; nullopt: there is one. Any thread.
  std::optional<std::string> trouble() const;

 private:
  struct Slot {
    explicit Slot(boost::asio::io_context& context) : ended(context), pause(context) {}
    PgPurpose purpose = PgPurpose::records;
    std::shared_ptr<postgres::PgConnection> connection;
    PgItemTypes item_types;
    bool ready = false;
    std::string lost_because;         // of the connection that was lost last
    boost::asio::steady_timer ended;  // cancelled when the connection is lost
    boost::asio::steady_timer pause;
  };

  boost::asio::awaitable<void> keep(Slot& slot);
  // Serves until the connection is lost, and returns why.
  boost::asio::awaitable<PgSessionError> serve(Slot& slot, PgSession session);
  void tell(std::optional<PgSessionError> outcome);
  void say(std::optional<std::string> trouble);

  boost::asio::io_context& context_;
  Options options_;
  PostgresClock& clock_;
  Events events_;
  std::vector<std::unique_ptr<Slot>> slots_;
  bool closing_ = false;
  base::BlockingPool connecting_;

  mutable std::mutex mutex_;
  std::condition_variable told_;
  bool has_outcome_ = false;
  std::optional<PgSessionError> outcome_;
  std::optional<std::string> trouble_ = "not connected yet";
};

// Runs a prepared statement on a connection, from the event loop's thread.
boost::asio::awaitable<postgres::PgReply> pg_call(postgres::PgConnection& connection,
                                                  const char* statement,
                                                  std::vector<postgres::PgValue> parameters,
                                                  std::chrono::steady_clock::duration timeout);

}  // namespace semel::stores
