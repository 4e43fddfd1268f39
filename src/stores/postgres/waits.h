#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "semel/driver/store.h"
#include "stores/postgres/pool.h"

namespace semel::stores {

// The waiters for the end of claims that other processes may hold. Marks a claim's row as awaited,
// once however many wait here; whoever ends the claim then notifies. Notifications can be lost (the
// listening connection may be away when one is sent), so each claim is also looked at every second,
// and more often while an open transaction keeps its row from being marked. Use on the store's
// thread only.
class PostgresWaits {
 public:
  using Resume = std::move_only_function<void(bool)>;

  PostgresWaits(boost::asio::io_context& context, PostgresPool& pool);

  void wait(const RecordId& id, const Token& token, Duration timeout, Resume resume);
  // `payload` has ids in hex, separated by commas.
  void notified(std::string_view payload);
  // Call when the listening connection has come (again): the ends of claims meanwhile were not
  // notified.
  void look_at_all();
  void close();

 private:
  using Steady = std::chrono::steady_clock;
  using Claim = std::pair<RecordId, Token>;
  struct Waiter {
    std::uint64_t number = 0;
    Steady::time_point until;
    Resume resume;
  };
  struct Entry {
    std::vector<Waiter> waiters;
    Steady::time_point look_at;
    bool asking = false;
  };

  void resume_all(std::map<Claim, Entry>::iterator entry);
  void end_waits(Steady::time_point now);
  void look(Steady::time_point now);
  void looked(const std::vector<Claim>& claims, postgres::PgReply reply);
  void tick();

  PostgresPool& pool_;
  boost::asio::steady_timer timer_;
  bool ticking_ = false;
  bool closed_ = false;
  std::uint64_t numbers_ = 0;
  std::map<Claim, Entry> entries_;
  std::multimap<Steady::time_point, std::pair<Claim, std::uint64_t>> deadlines_;
};

}  // namespace semel::stores
