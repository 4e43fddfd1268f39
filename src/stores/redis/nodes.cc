#include "stores/redis/nodes.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <set>
#include <utility>

#include "engine/spawn.h"
#include "stores/redis/cluster.h"

namespace semel::stores::redis {
namespace asio = boost::asio;
using asio::awaitable;
using boost::system::error_code;
using resp::resp_command;

namespace {

// A slot that is being moved cannot be written for a while.
constexpr Duration kRedirectPatience = std::chrono::seconds(2);
constexpr Duration kTryAgainAfter = std::chrono::milliseconds(20);
constexpr int kFollowedAtOnceMax = 5;  // members that disagree redirect to and fro: give them time
constexpr Duration kLookAtNodesEvery = std::chrono::seconds(1);

// Errors that a server returns before it carries anything out. Others may come from the middle of a
// script.
constexpr std::string_view kNothingWritten[] = {
    "OOM ",        "MISCONF ",     "NOREPLICAS ", "READONLY ", "LOADING ",  "BUSY ",  "NOAUTH ",
    "MASTERDOWN ", "CLUSTERDOWN ", "CROSSSLOT ",  "NOSCRIPT ", "TRYAGAIN ", "MOVED ", "ASK "};

bool says_nothing_written(std::string_view error) {
  return std::ranges::any_of(kNothingWritten,
                             [&](std::string_view start) { return error.starts_with(start); });
}

// Checks a server at the start. Later an evicting server is only a doubt: existing records can
// still be replayed.
std::expected<void, std::string> fit_to_begin(const Link& link) {
  if (link.health().evicts.empty()) return {};
  return std::unexpected("Redis at " + link.address().text() + ": its maxmemory-policy is " +
                         link.health().evicts +
                         ", which removes records at will; set it to noeviction");
}

}  // namespace

std::string Command::wire(bool whole) const {
  std::vector<std::string_view> all;
  if (script) {
    all.push_back(whole ? "EVAL" : "EVALSHA");
    all.push_back(whole ? script->source : std::string_view(script->sha1));
  }
  all.insert(all.end(), arguments.begin(), arguments.end());
  return resp_command(all);
}

Nodes::Nodes(Common& common, const RedisConfig& config)
    : common_(common), config_(config), look_(common.executor) {}

Nodes::~Nodes() = default;

awaitable<std::expected<void, std::string>> Nodes::start() {
  if (common_.is_cluster) {
    auto loaded = co_await load_slots();
    if (!loaded) co_return loaded;
    for (const auto& [address, link] : links_) {
      auto connected = co_await link->connect();
      if (connected) connected = fit_to_begin(*link);
      if (!connected) co_return connected;
    }
    co_return std::expected<void, std::string>{};
  }
  auto link = std::make_shared<Link>(common_, [this] { return find_master(); });
  link->on_change([this] {
    if (changed_) changed_();
  });
  owners_.fill(link);
  auto connected = co_await link->connect();
  if (connected) connected = fit_to_begin(*link);
  co_return connected;
}

void Nodes::keep_link(const std::shared_ptr<Link>& link) {
  asio::co_spawn(common_.executor, link->keep(), engine::OrStop{"keeping up with Redis"});
  if (!common_.is_cache)
    asio::co_spawn(common_.executor, link->watch(), engine::OrStop{"keeping up with Redis"});
}

void Nodes::keep() {
  is_kept_ = true;
  if (common_.is_cluster) {
    for (const auto& [address, link] : links_) keep_link(link);
    asio::co_spawn(common_.executor, follow_slots(), engine::OrStop{"keeping up with Redis"});
    return;
  }
  keep_link(owners_[0]);
  if (!config_.sentinels.empty()) {
    asio::co_spawn(common_.executor, follow_sentinels(), engine::OrStop{"keeping up with Redis"});
  }
}

void Nodes::close() {
  closed_ = true;
  look_.cancel();
  for (const auto& [address, link] : links_) link->close();
  for (const auto& link : owners_) {
    if (link) link->close();
  }
}

std::optional<RedisAddress> Nodes::server_of(Bucket bucket) const {
  const auto& link = owners_[bucket];
  if (!link || !link->is_up()) return std::nullopt;
  return link->address();
}

std::optional<std::string> Nodes::trouble() const {
  for (const auto& link : owners_) {
    if (!link) return "the Cluster has slots that no server serves";
    if (!link->is_up()) return link->why_down();
  }
  return std::nullopt;
}

std::vector<const Link*> Nodes::masters() const {
  std::vector<const Link*> found;
  for (const auto& link : owners_) {
    if (link && link->is_up() && std::ranges::find(found, link.get()) == found.end()) {
      found.push_back(link.get());
    }
  }
  return found;
}

// Sends a script whole if the server has lost it (a restart, SCRIPT FLUSH), which teaches it again.
awaitable<Outcome> Nodes::send(const Command& command, std::shared_ptr<Link> link, bool asking) {
  Outcome outcome = co_await link->call(command.bucket, command.wire(false), asking);
  const auto* answered = std::get_if<Answered>(&outcome);
  if (!answered || !answered->reply.is_error() || !answered->reply.text().starts_with("NOSCRIPT")) {
    co_return outcome;
  }
  co_return co_await link->call(command.bucket, command.wire(true), asking);
}

awaitable<CallResult> Nodes::call(Command command) {
  const auto give_up = std::chrono::steady_clock::now() + kRedirectPatience;
  std::shared_ptr<Link> link = owners_[command.bucket];
  bool asking = false;
  int redirects = 0;
  for (;;) {
    if (!link) {
      look_again();
      co_return std::unexpected(Failed{"no server of the Cluster serves this record's slot"});
    }
    Outcome outcome = co_await send(command, link, asking);
    if (auto* not_sent = std::get_if<NotSent>(&outcome)) {
      look_again();
      co_return std::unexpected(Failed{std::move(not_sent->why)});
    }
    if (auto* in_doubt = std::get_if<InDoubt>(&outcome)) {
      look_again();
      co_return std::unexpected(Failed{std::move(in_doubt->why), true});
    }
    auto& answered = std::get<Answered>(outcome);
    if (!answered.reply.is_error()) co_return std::move(answered);

    const std::string error(answered.reply.text());
    const std::string why = "Redis at " + link->address().text() + " says '" + error + "'";
    if (!says_nothing_written(error)) co_return std::unexpected(Failed{why, true});
    // A demoted master: reconnecting finds the server that took over.
    if (error.starts_with("READONLY") || error.starts_with("MASTERDOWN")) link->reconnect();
    const auto redirect = redirect_of(error, link->address());
    const bool is_moving = error.starts_with("TRYAGAIN") || error.starts_with("CLUSTERDOWN");
    if ((!redirect && !is_moving) || std::chrono::steady_clock::now() >= give_up || closed_) {
      co_return std::unexpected(Failed{why});
    }
    look_again();
    if (is_moving) {
      co_await pause(kTryAgainAfter);
      link = owners_[command.bucket];
      asking = false;
      continue;
    }
    if (++redirects > kFollowedAtOnceMax) co_await pause(kTryAgainAfter);
    asking = !redirect->is_permanent;
    link = link_to(redirect->to);
    if (redirect->is_permanent) owners_[command.bucket] = link;
    // Gives a server that is new here the time to be connected to.
    while (!link->is_up() && std::chrono::steady_clock::now() < give_up && !closed_) {
      co_await pause(kTryAgainAfter);
    }
  }
}

awaitable<void> Nodes::pause(Duration length) {
  asio::steady_timer timer(common_.executor, length);
  error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

// --- Sentinel ------------------------------------------------------------------------------------

awaitable<std::expected<RedisAddress, std::string>> Nodes::find_master() {
  if (config_.sentinels.empty()) co_return common_.url.address;
  std::string why;
  for (const RedisAddress& sentinel : config_.sentinels) {
    auto found = co_await ask_sentinel(sentinel);
    if (found) co_return found;
    why += (why.empty() ? "" : "; ") + found.error();
  }
  co_return std::unexpected("no Sentinel names the master: " + why);
}

awaitable<std::expected<RedisAddress, std::string>> Nodes::ask_sentinel(RedisAddress sentinel) {
  const std::string who = "Sentinel at " + sentinel.text() + ": ";
  Common as_sentinel = common_;
  as_sentinel.url.user.clear();
  as_sentinel.url.password = config_.sentinel_password;
  as_sentinel.url.database = 0;
  auto connection = co_await connect_to(as_sentinel, sentinel);
  if (!connection) co_return std::unexpected(who + connection.error());
  std::string wire = resp_command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", config_.sentinel_master});
  const resp::RespResult reply = co_await (*connection)->call(std::move(wire));
  (*connection)->close();
  if (!reply) co_return std::unexpected(who + "the connection ended");
  if (reply->is_error()) co_return std::unexpected(who + std::string(reply->text()));
  const auto port = reply->at(1).number();
  if (reply->size() != 2 || !port || *port < 1 || *port > 65535) {
    co_return std::unexpected(who + "it does not know a master '" + config_.sentinel_master + "'");
  }
  co_return RedisAddress{.host = std::string(reply->at(0).text()),
                         .port = static_cast<std::uint16_t>(*port)};
}

// A demoted master usually ends its connections. One that was cut off from its Sentinels does not:
// so a process that can still reach both asks the Sentinels.
awaitable<void> Nodes::follow_sentinels() {
  while (!closed_) {
    look_.expires_after(kLookAtNodesEvery);
    error_code ignored;
    co_await look_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (closed_ || !owners_[0]->is_up()) continue;
    const auto master = co_await find_master();
    if (master && *master != owners_[0]->address()) owners_[0]->reconnect();
  }
}

// --- Cluster -------------------------------------------------------------------------------------

std::shared_ptr<Link> Nodes::link_to(const RedisAddress& address) {
  if (const auto found = links_.find(address); found != links_.end()) return found->second;
  auto find = [address]() -> awaitable<std::expected<RedisAddress, std::string>> {
    co_return address;
  };
  auto link = std::make_shared<Link>(common_, find);
  link->on_change([this] {
    look_again();
    if (changed_) changed_();
  });
  links_.emplace(address, link);
  if (is_kept_ && !closed_) keep_link(link);
  return link;
}

awaitable<std::expected<void, std::string>> Nodes::load_slots() {
  std::set<RedisAddress> members(config_.cluster.begin(), config_.cluster.end());
  for (const auto& [address, link] : links_) {
    if (link->is_up()) members.insert(address);
  }
  std::string why;
  for (const RedisAddress& member : members) {
    auto loaded = co_await load_slots_from(member);
    if (loaded) co_return loaded;
    why += (why.empty() ? "" : "; ") + loaded.error();
  }
  co_return std::unexpected("no member of the Cluster reports the slots: " + why);
}

awaitable<std::expected<void, std::string>> Nodes::load_slots_from(RedisAddress member) {
  const std::string who = "Redis at " + member.text() + ": ";
  auto connection = co_await connect_to(common_, member);
  if (!connection) co_return std::unexpected(who + connection.error());
  const resp::RespResult reply = co_await (*connection)->call(resp_command({"CLUSTER", "SLOTS"}));
  (*connection)->close();
  if (!reply) co_return std::unexpected(who + "the connection ended");
  if (reply->is_error()) co_return std::unexpected(who + std::string(reply->text()));
  const std::vector<SlotRange> ranges = slot_ranges(*reply, member);
  if (ranges.empty()) co_return std::unexpected(who + "it has no slots");

  std::set<RedisAddress> in_use;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    const Slot slot = slot_of(static_cast<Bucket>(bucket));
    const auto range = std::ranges::find_if(
        ranges, [&](const SlotRange& one) { return one.first <= slot && slot <= one.last; });
    owners_[bucket] = range == ranges.end() ? nullptr : link_to(range->master);
  }
  for (const SlotRange& range : ranges) in_use.insert(range.master);
  for (auto one = links_.begin(); one != links_.end();) {
    // A server that was not tried yet may be the one that a slot is being moved to.
    if (in_use.contains(one->first) || one->second->is_up() || !one->second->was_tried()) {
      ++one;
    } else {
      one->second->close();
      one = links_.erase(one);
    }
  }
  if (changed_) changed_();
  co_return std::expected<void, std::string>{};
}

void Nodes::look_again() {
  if (!common_.is_cluster) return;
  look_wanted_ = true;
  look_.cancel();
}

// Asks which server has which slots now and then, and whenever something hints at a change.
awaitable<void> Nodes::follow_slots() {
  constexpr int kQuietRounds = 10;
  for (int quiet = 0; !closed_; ++quiet) {
    if (!look_wanted_) {
      look_.expires_after(kLookAtNodesEvery);
      error_code ignored;
      co_await look_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    if (closed_) co_return;
    if (!std::exchange(look_wanted_, false) && quiet < kQuietRounds && !trouble()) continue;
    quiet = 0;
    (void)co_await load_slots();
    // Many commands meet the same change; one look serves them all.
    if (!closed_) co_await pause(kTryAgainAfter);
  }
}

}  // namespace semel::stores::redis
