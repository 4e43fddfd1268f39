#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>

#include "admin/admin_answer.h"
#include "admin/parameters.h"
#include "admin/setup/setup_api.h"
#include "base/utf8.h"
#include "engine/process_identity.h"

namespace semel::admin {
namespace asio = boost::asio;
namespace json = boost::json;
using boost::asio::awaitable;

namespace {

constexpr std::size_t kNodeRecordsMax = 10'000;
constexpr std::size_t kNodePage = 200;  // per call to the store
constexpr Duration kLookForNodesEvery = std::chrono::seconds(30);

bool shows_node(const Record& record, Time now) {
  return record.state == RecordState::in_progress && record.lease_until >= now &&
         !is_held_by_client(record.owner);
}

}  // namespace

// Walks over the records. What is due next could be read in fewer steps, but that is the sweeper's
// way, and it would go on from here.
awaitable<StoreResult<SetupApi::SeenNodes>> SetupApi::find_nodes() {
  const SteadyTime begun = process_.machine_clock().steady();
  if (begun < look_again_at_) co_return seen_;
  auto executor = co_await asio::this_coro::executor;
  SeenNodes seen;
  std::size_t examined = 0;
  std::optional<RecordId> after;
  do {
    auto page = co_await services_.store.scan(after, kNodePage);
    if (!page) co_return std::unexpected(page.error());
    const Time now = services_.clock.now();
    for (const RecordPtr& record : page->records) {
      if (!shows_node(*record, now)) continue;
      SeenNode& node = seen.by_run[{record->owner.node, record->owner.run}];
      ++node.claims_held;
      node.last_seen = std::max(node.last_seen, record->updated_at);
    }
    examined += page->records.size();
    after = page->next;
    co_await asio::post(executor, asio::use_awaitable);  // give others a turn
  } while (after && examined < kNodeRecordsMax);
  seen.complete = !after;
  seen_ = seen;
  look_again_at_ = begun + kLookForNodesEvery;
  co_return seen;
}

awaitable<Answer> SetupApi::nodes(std::string query) {
  if (const auto wrong = no_parameters(query)) co_return problem_answer(400, "bad-query", *wrong);
  const Time now = services_.clock.now();
  SeenNodes seen;
  if (!services_.store.features().exclusive) {
    auto found = co_await find_nodes();
    if (!found) co_return store_unavailable(found.error());
    seen = *std::move(found);
  }
  const Owner& self = engine::this_node();
  seen.by_run.erase({self.node, self.run});
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
  for (const auto& [owner, node] : seen.by_run) {
    nodes.push_back({{"node", base::printable_utf8(owner.first)},
                     {"run", engine::run_text({owner.first, owner.second})},
                     {"is_this_process", false},
                     {"version", nullptr},
                     {"since", nullptr},
                     {"claims_held", node.claims_held},
                     {"last_seen", time_json(node.last_seen)},
                     {"clock_ahead_ms", nullptr}});
  }
  co_return json_answer(200, {{"nodes", std::move(nodes)}, {"complete", seen.complete}});
}

}  // namespace semel::admin
