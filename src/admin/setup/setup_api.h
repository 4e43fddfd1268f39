#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/blocking_pool.h"
#include "server/process.h"

namespace semel::admin {

// Shows how the gateway is set up, what is beside it, and what it would do: /api/routes,
// /api/config, /api/nodes, /api/outbox, /api/explain.
class SetupApi {
 public:
  explicit SetupApi(server::Process& process)
      : process_(process), services_(process.services()), since_(process.machine_clock().now()) {}

  boost::asio::awaitable<Answer> routes(std::string query);
  // The configuration in force, with every default filled in and no secret shown.
  Answer config(const std::string& query) const;
  boost::asio::awaitable<Answer> nodes(std::string query);
  boost::asio::awaitable<Answer> outbox(std::string query);
  // POST /api/explain. Executes and stores nothing.
  boost::asio::awaitable<Answer> explain(std::string body);

 private:
  // Unknown records by the name of their operation. nullopt: there are too many records to count.
  using Counts = std::map<std::string, std::size_t, std::less<>>;
  boost::asio::awaitable<StoreResult<std::optional<Counts>>> count_unknown();

  // Another process, as its claims show it.
  struct SeenNode {
    std::size_t claims_held = 0;
    Time last_seen{};
  };
  struct SeenNodes {
    std::map<std::pair<std::string, std::uint64_t>, SeenNode> by_run;  // node and run
    bool complete = true;  // false: there are too many records to look at
  };
  boost::asio::awaitable<StoreResult<SeenNodes>> find_nodes();

  server::Process& process_;
  runtime::Services& services_;
  const Time since_;
  // The last count, since each walks over the store.
  std::optional<Counts> counted_;
  SteadyTime count_again_at_{};
  SeenNodes seen_;  // likewise
  SteadyTime look_again_at_{};
  base::BlockingPool database_{"semel-outbox", 1};  // for calls of libpq, which block
};

}  // namespace semel::admin
