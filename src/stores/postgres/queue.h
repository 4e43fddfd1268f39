#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "semel/driver/store.h"
#include "stores/group_commit.h"
#include "stores/postgres/clock.h"
#include "stores/postgres/pool.h"
#include "stores/postgres/rows.h"

namespace semel::stores {

// Gathers requests to the database into batches. A batch is made when a connection has room for it,
// so that batches grow under load. Per id only one swap is in flight at a time. Use on the store's
// thread only.
class PostgresQueue {
 public:
  using SwapReply = std::move_only_function<void(SwapResult)>;
  using ReadResult = StoreResult<RecordPtr>;
  using ReadReply = std::move_only_function<void(ReadResult)>;

  PostgresQueue(boost::asio::io_context& context, PostgresPool& pool, PostgresClock& clock,
                std::function<void(const GroupCommit&)> committed);

  // These calls only queue the request; the next dispatch() sends it.
  void swap(PgSwap swap, SwapReply reply);
  void read(const RecordId& id, ReadReply reply);
  void call(const char* statement, std::vector<postgres::PgValue> parameters,
            std::move_only_function<void(postgres::PgReply)> reply);

  // Sends what can be sent. If no connection is left, fails every waiting request as unavailable.
  void dispatch();
  // Fails requests that have waited too long, and sends swaps that have waited for a larger batch.
  void look_at_deadlines();
  // Fails every waiting request as unavailable, and every later one.
  void close();

  // Returns whether something was written since the last call.
  bool take_changed() { return std::exchange(changed_, false); }

 private:
  using Steady = std::chrono::steady_clock;
  struct Swap {
    PgSwap swap;
    SwapReply reply;
    Steady::time_point since;
    std::uint64_t number = 0;                      // grows with every swap that was asked for
    std::optional<Steady::time_point> held_since;  // found busy
    bool alone = false;                            // a batch with it was refused
  };
  // Swaps that can be sent. New records and changes are kept apart, since a batch of one kind is
  // one statement for the server instead of two.
  struct Ready {
    std::deque<Swap> claims;
    std::deque<Swap> changes;
    std::size_t size() const { return claims.size() + changes.size(); }
    void push(Swap swap);
    // Returns the queue whose first swap has waited longest. At least one must not be empty.
    std::deque<Swap>& older();
    Swap pop();
  };
  struct Read {
    std::vector<ReadReply> replies;
    Steady::time_point since;
  };
  struct Call {
    postgres::PgCall call;
    Steady::time_point since;
  };
  struct Batch {
    std::vector<Swap> swaps;
    std::uint64_t asked_before = 0;  // swaps with a lower number were asked for before it was sent
  };

  bool send_swaps();
  bool send_reads();
  bool send_call();
  std::vector<Swap> take_swaps();
  // Moves swaps from `ready` to `taken` while they fit into a batch.
  void take_from(std::deque<Swap>& ready, std::vector<Swap>& taken) const;
  void swapped(Batch batch, postgres::PgReply reply);
  void refused(Batch batch, const postgres::PgError& error);
  // Answers the swap with `result`.
  void settle(Swap swap, SwapResult result, std::uint64_t asked_before);
  void settle_those_behind(const RecordId& id, const SwapResult& seen, std::uint64_t asked_before);
  // Makes the next swap of this id ready.
  void let_next(const RecordId& id);
  void rest_a_while(Swap swap);
  void wake_rested();
  void read_done(std::vector<std::pair<RecordId, Read>> reads, postgres::PgReply reply);
  void read_again(const RecordId& id, Read read);
  void fail_all(const std::string& why);

  PostgresPool& pool_;
  PostgresClock& clock_;
  std::function<void(const GroupCommit&)> committed_;
  bool closed_ = false;
  bool changed_ = false;
  int turn_ = 0;

  std::uint64_t asked_ = 0;
  std::size_t on_their_way_ = 0;  // swaps
  Ready ready_;
  // Every id with a swap that is ready, resting or in flight, and the swaps behind that one. A
  // list, since mostly there are none, and an empty deque allocates memory.
  std::unordered_map<RecordId, std::list<Swap>> behind_;
  std::multimap<Steady::time_point, Swap> resting_;
  boost::asio::steady_timer rest_;
  std::deque<RecordId> read_order_;
  std::unordered_map<RecordId, Read> reads_;
  std::deque<Call> calls_;
};

}  // namespace semel::stores
