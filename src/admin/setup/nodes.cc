#include <boost/json/array.hpp>
#include <map>

#include "admin/admin_answer.h"
#include "admin/parameters.h"
#include "admin/setup/setup_api.h"
#include "base/utf8.h"
#include "engine/process_identity.h"

namespace semel::admin {
namespace json = boost::json;
using boost::asio::awaitable;

namespace {

// Records are read by when they are due, which a claim is when its lease ends: as many as one sweep
// of the engine reads.
constexpr Duration kLeaseMax = std::chrono::minutes(15);
constexpr std::size_t kDueReadMax = 256;

// A process as its claims show it.
struct SeenNode {
  std::size_t claims_held = 0;
  Time last_seen{};
};
using NodeKey = std::pair<std::string, std::uint64_t>;
using SeenNodes = std::map<NodeKey, SeenNode>;

SeenNodes nodes_in(const std::vector<RecordPtr>& due, Time now) {
  SeenNodes nodes;
  for (const RecordPtr& record : due) {
    const bool is_held = record->state == RecordState::in_progress && record->lease_until >= now &&
                         !is_held_by_client(record->owner);
    if (!is_held) continue;
    SeenNode& node = nodes[{record->owner.node, record->owner.run}];
    ++node.claims_held;
    node.last_seen = std::max(node.last_seen, record->updated_at);
  }
  return nodes;
}

}  // namespace

awaitable<Answer> SetupApi::nodes(std::string query) {
  if (const auto wrong = no_parameters(query)) co_return problem_answer(400, "bad-query", *wrong);
  const Time now = services_.clock.now();
  SeenNodes seen;
  if (!services_.store.features().exclusive) {
    auto due = co_await services_.store.sweep(now + kLeaseMax, kDueReadMax);
    if (!due) co_return store_unavailable(due.error());
    seen = nodes_in(*due, now);
  }
  const Owner& self = engine::this_node();
  seen.erase({self.node, self.run});
  const Duration ahead = services_.store.stats().clock_ahead;
  json::array nodes;
  nodes.push_back({{"node", base::printable_utf8(self.node)},
                   {"run", engine::run_text(self)},
                   {"is_this_process", true},
                   {"version", SEMEL_VERSION},
                   {"since", time_json(since_)},
                   {"claims_held", services_.engine.running().executions},
                   {"last_seen", time_json(now)},
                   {"clock_ahead_ms",
                    services_.store.now() ? json::value(ahead.count()) : json::value(nullptr)}});
  for (const auto& [owner, node] : seen) {
    nodes.push_back({{"node", base::printable_utf8(owner.first)},
                     {"run", engine::run_text({owner.first, owner.second})},
                     {"is_this_process", false},
                     {"version", nullptr},
                     {"since", nullptr},
                     {"claims_held", node.claims_held},
                     {"last_seen", time_json(node.last_seen)},
                     {"clock_ahead_ms", nullptr}});
  }
  co_return json_answer(200, {{"nodes", std::move(nodes)}});
}

}  // namespace semel::admin
