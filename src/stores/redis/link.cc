// The promise: whatever is reported as replicated was acknowledged by that many replicas after it
// was written, or read. If this were broken, a failover could undo a claim that was acted on.
#include "stores/redis/link.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iterator>
#include <utility>

#include "base/backoff.h"
#include "base/random.h"
#include "engine/system_clock.h"
#include "http/pool.h"
#include "stores/redis/scripts.h"

namespace semel::stores::redis {
namespace asio = boost::asio;
using asio::awaitable;
using boost::system::error_code;
using resp::resp_command;
using resp::RespConnection;
using resp::RespLoss;
using resp::RespReply;
using resp::RespResult;

namespace {

constexpr Duration kConnectTimeout = std::chrono::seconds(2);
// A server that does not reply for this long is taken for dead.
constexpr Duration kReplyTimeout = std::chrono::seconds(5);
// How long replicas have to acknowledge; well below kReplyTimeout.
constexpr Duration kReplicaTimeout = std::chrono::seconds(1);
constexpr Duration kPauseMin = std::chrono::milliseconds(50);
constexpr Duration kPauseMax = std::chrono::seconds(2);
constexpr std::size_t kGroupBytesMax = 8 << 20;
constexpr Duration kLookEvery = std::chrono::seconds(2);

std::string quoted(std::string_view reply) {
  return "it says '" + std::string(reply.substr(0, 200)) + "'";
}

// Sends a command on a connection that is being prepared. The error says why the connection cannot
// be used.
awaitable<std::expected<RespReply, std::string>> ask(RespConnection& of, std::string wire) {
  RespResult result = co_await of.call(std::move(wire));
  if (!result) co_return std::unexpected("the connection ended: " + of.why());
  co_return *std::move(result);
}

// Returns the setting from the reply to CONFIG GET; empty: we may not ask for it.
std::string_view setting_of(const RespReply& reply) {
  if (reply.is_error() || reply.size() < 2) return {};
  return reply.at(1).text();
}

// Returns whether this is an error that says nothing about what we may ask. The server is asked
// again later.
bool is_momentary(const RespReply& reply) {
  return reply.is_error() &&
         (reply.text().starts_with("BUSY") || reply.text().starts_with("LOADING"));
}

std::string ended_phrase(const RespConnection& connection) {
  return "the connection to Redis ended: " + connection.why();
}

Outcome to_outcome(RespResult result, const std::string& why) {
  if (result) return Answered{*std::move(result)};
  if (result.error() == RespLoss::not_sent) return NotSent{why};
  return InDoubt{why};
}

}  // namespace

void close_all(const Common& common) {
  for (const auto& one : Common::Made(*common.made)) {
    if (const auto connection = one.lock()) connection->close();
  }
}

std::expected<std::shared_ptr<const http::TlsClient>, std::string> tls_for(
    const RedisUrl& url, const RedisConfig& config) {
  if (!url.tls) return nullptr;
  http::TlsClientFiles files;
  files.ca = config.ca;
  return http::TlsClient::load(files);
}

awaitable<std::expected<std::shared_ptr<RespConnection>, std::string>> connect_to(
    const Common& common, RedisAddress address, std::function<void(const RespReply&)> on_push) {
  http::UpstreamPool pool(common.executor, common.deadlines, address.host, address.port,
                          common.tls);
  auto plain = co_await pool.connect(kConnectTimeout);
  if (!plain) co_return std::unexpected(std::move(plain.error()));
  auto connection =
      std::make_shared<RespConnection>(*std::move(plain), common.executor, kReplyTimeout);
  std::erase_if(*common.made, [](const auto& one) { return one.expired(); });
  common.made->push_back(connection);
  connection->on_push(std::move(on_push));
  connection->start();
  if (!common.url.password.empty()) {
    std::string wire = common.url.user.empty()
                           ? resp_command({"AUTH", common.url.password})
                           : resp_command({"AUTH", common.url.user, common.url.password});
    auto reply = co_await ask(*connection, std::move(wire));
    if (reply && reply->is_error()) {
      reply = std::unexpected("it rejected the user or the password: " + quoted(reply->text()));
    }
    if (!reply) {
      connection->close();
      co_return std::unexpected(std::move(reply.error()));
    }
  }
  if (common.url.database != 0) {
    auto reply =
        co_await ask(*connection, resp_command({"SELECT", std::to_string(common.url.database)}));
    if (reply && reply->is_error()) {
      reply = std::unexpected("it rejected the database: " + quoted(reply->text()));
    }
    if (!reply) {
      connection->close();
      co_return std::unexpected(std::move(reply.error()));
    }
  }
  co_return connection;
}

Link::Link(const Common& common, Find find)
    : common_(common),
      find_(std::move(find)),
      pause_(common.executor),
      look_again_(common.executor) {}

awaitable<std::expected<void, std::string>> Link::connect() {
  auto self = shared_from_this();
  std::expected<void, std::string> result;
  auto address = co_await find_();
  if (!address) {
    result = std::unexpected(std::move(address.error()));
  } else {
    address_ = *address;
    auto connection = co_await connect_to(common_, address_);
    if (connection) {
      result = co_await prepare(**connection);
      if (!result || closed_) (*connection)->close();
      if (result) connection_ = *std::move(connection);
    } else {
      result = std::unexpected(std::move(connection.error()));
    }
    if (!result) result = std::unexpected("Redis at " + address_.text() + ": " + result.error());
  }
  if (!result) why_down_ = result.error();
  was_tried_ = true;
  if (result && changed_) changed_();
  co_return result;
}

awaitable<std::expected<void, std::string>> Link::prepare(RespConnection& to) {
  auto master = co_await require_master(to);
  if (!master) co_return master;
  for (const Script* script :
       {&swap_script(), &clean_script(), &await_script(), &count_script(), &fill_script()}) {
    auto loaded = co_await ask(to, resp_command({"SCRIPT", "LOAD", script->source}));
    if (!loaded) co_return std::unexpected(std::move(loaded.error()));
    // NOPERM and the like are accepted: scripts are then sent whole when the server does not know
    // them.
    if (loaded->is_error() && loaded->text().starts_with("LOADING")) {
      co_return std::unexpected("it is loading its data");
    }
    if (loaded->is_error() && loaded->text().starts_with("NOAUTH")) {
      co_return std::unexpected("it requires a user and a password: " + quoted(loaded->text()));
    }
  }
  if (common_.is_cache) co_return std::expected<void, std::string>{};
  co_return co_await inspect(to);
}

awaitable<std::expected<void, std::string>> Link::require_master(RespConnection& to) {
  if (common_.is_cluster) co_return std::expected<void, std::string>{};
  auto role = co_await ask(to, resp_command({"ROLE"}));
  if (!role) co_return std::unexpected(std::move(role.error()));
  // Without the right to ask (ACL), a write to a replica is refused by the replica itself.
  if (role->size() > 0 && role->at(0).text() != "master") {
    co_return std::unexpected("it is a replica, which accepts no writes");
  }
  co_return std::expected<void, std::string>{};
}

// Checks whether the server would forget records, and whether its clock agrees with ours. Warns of
// each finding once for as long as it holds.
awaitable<std::expected<void, std::string>> Link::inspect(RespConnection& to) {
  std::vector<std::string> warnings;
  auto asked = co_await compare_clocks(to);
  if (asked) asked = co_await look_at_settings(to, warnings);
  if (!asked) co_return asked;
  std::set<std::string> holds;
  for (const std::string& warning : warnings) {
    std::string sentence = "Redis at " + address_.text() + " " + warning;
    if (!warned_.contains(sentence)) common_.warn(sentence);
    holds.insert(std::move(sentence));
  }
  warned_ = std::move(holds);
  if (common_.looked) common_.looked();
  co_return std::expected<void, std::string>{};
}

awaitable<std::expected<void, std::string>> Link::compare_clocks(RespConnection& to) {
  const engine::SystemClock clock;
  const Instant asked{.wall = clock.now(), .steady = clock.steady()};
  auto reply = co_await ask(to, resp_command({"TIME"}));
  if (!reply) co_return std::unexpected(std::move(reply.error()));
  const SteadyTime answered = clock.steady();
  if (const auto theirs = time_of(*reply)) {
    health_.clock = ServerClock(asked, answered, *theirs);
  } else if (!is_momentary(*reply)) {
    const std::string user = common_.url.user.empty() ? "default" : common_.url.user;
    health_.clock = std::unexpected("does not allow TIME (" + quoted(reply->text()) +
                                    "; allow it for this user: ACL SETUSER " + user + " +time)");
  }
  co_return std::expected<void, std::string>{};
}

awaitable<std::expected<void, std::string>> Link::look_at_settings(
    RespConnection& to, std::vector<std::string>& warnings) {
  auto memory = co_await ask(to, resp_command({"INFO", "memory"}));
  if (!memory) co_return std::unexpected(std::move(memory.error()));
  auto persistence = co_await ask(to, resp_command({"INFO", "persistence"}));
  if (!persistence) co_return std::unexpected(std::move(persistence.error()));
  if (is_momentary(*memory) || is_momentary(*persistence)) {
    co_return std::expected<void, std::string>{};
  }
  std::string policy(info_field(memory->text(), "maxmemory_policy"));
  std::string_view keeps_file = info_field(persistence->text(), "aof_enabled");
  // If INFO does not tell, CONFIG GET may.
  if (policy.empty()) {
    auto reply = co_await ask(to, resp_command({"CONFIG", "GET", "maxmemory-policy"}));
    if (!reply) co_return std::unexpected(std::move(reply.error()));
    policy = setting_of(*reply);
  }
  if (keeps_file.empty()) {
    auto reply = co_await ask(to, resp_command({"CONFIG", "GET", "appendonly"}));
    if (!reply) co_return std::unexpected(std::move(reply.error()));
    if (const auto said = setting_of(*reply); !said.empty()) keeps_file = said == "no" ? "0" : "1";
  }
  if (policy.empty() || keeps_file.empty()) {
    warnings.emplace_back(
        "allows neither INFO nor CONFIG, so it is not known whether it evicts records and whether "
        "it keeps them on disk");
  }
  health_.evicts = policy == "noeviction" ? "" : policy;
  if (keeps_file == "0") {
    warnings.emplace_back(
        "keeps no append-only file (appendonly no): when it restarts it forgets keys, and their "
        "retries are executed again");
  }
  if (keeps_file != "1") co_return std::expected<void, std::string>{};
  auto fsync = co_await ask(to, resp_command({"CONFIG", "GET", "appendfsync"}));
  if (!fsync) co_return std::unexpected(std::move(fsync.error()));
  const std::string_view synced = setting_of(*fsync);
  if (synced.empty()) {
    warnings.emplace_back(
        "does not allow CONFIG, so it is not known how often it syncs its append-only file");
  } else if (synced == "no") {
    warnings.emplace_back(
        "leaves the sync of its append-only file to the system (appendfsync no): a power cut loses "
        "keys");
  } else if (synced == "everysec") {
    warnings.emplace_back(
        "syncs its append-only file once a second (appendfsync everysec): a power cut loses the "
        "keys of the last two seconds, and on a slow disk so does killing the server");
  }
  auto rewriting = co_await ask(to, resp_command({"CONFIG", "GET", "no-appendfsync-on-rewrite"}));
  if (!rewriting) co_return std::unexpected(std::move(rewriting.error()));
  if (setting_of(*rewriting) == "yes") {
    warnings.emplace_back(
        "does not sync its append-only file while it rewrites it (no-appendfsync-on-rewrite yes): "
        "a power cut then loses keys, whatever appendfsync says");
  }
  co_return std::expected<void, std::string>{};
}

awaitable<void> Link::watch() {
  auto self = shared_from_this();
  while (!closed_) {
    look_again_.expires_after(kLookEvery);
    error_code ignored;
    co_await look_again_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (closed_ || !is_up()) continue;
    const auto connection = connection_;
    auto fit = co_await require_master(*connection);
    if (fit) fit = co_await inspect(*connection);
    if (!fit) connection->close();
  }
}

awaitable<void> Link::keep() {
  auto self = shared_from_this();
  base::Backoff pauses(kPauseMin, kPauseMax);
  while (!closed_) {
    if (is_up()) {
      pauses.reset();
      co_await connection_->ended();
      why_down_ = "Redis at " + address_.text() + ": the connection ended: " + connection_->why();
      if (changed_) changed_();
      continue;
    }
    if (co_await connect()) continue;
    // Jittered, so that the nodes of a fleet do not all reconnect at the same moment.
    pause_.expires_after(base::jittered(pauses.next(), base::random_number()));
    error_code ignored;
    co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

void Link::close() {
  closed_ = true;
  pause_.cancel();
  look_again_.cancel();
  if (connection_) connection_->close();
}

void Link::reconnect() {
  if (connection_) connection_->close();
}

awaitable<Outcome> Link::call(Bucket bucket, std::string wire, bool asking) {
  auto self = shared_from_this();
  if (!is_up()) co_return NotSent{why_down_};
  auto initiate = [&](auto handler) {
    auto done = [handler = std::move(handler)](Outcome outcome) mutable {
      std::move(handler)(std::move(outcome));
    };
    if (common_.replicas > 0) {
      waiting_.push_back(
          {.bucket = bucket, .wire = std::move(wire), .asking = asking, .done = std::move(done)});
      if (!group_is_out_) send_group();
      return;
    }
    if (asking) connection_->send(resp_command({"ASKING"}), [](RespResult) {});
    connection_->send(wire, [done = std::move(done), to = connection_](RespResult result) mutable {
      done(to_outcome(std::move(result), ended_phrase(*to)));
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Outcome)>(
      initiate, asio::use_awaitable);
}

// Commands that are sent together, and the result of the proof behind them.
struct Link::Group {
  std::vector<Grouped> commands;
  std::shared_ptr<RespConnection> over;
  bool is_proof_written = false;
  bool is_acknowledged = false;
};

void Link::send_group() {
  group_is_out_ = true;
  auto group = std::make_shared<Group>();
  group->over = connection_;
  std::size_t bytes = 0;
  auto end = waiting_.begin();
  while (end != waiting_.end() && bytes < kGroupBytesMax) bytes += (end++)->wire.size();
  group->commands.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  for (std::size_t i = 0; i < group->commands.size(); ++i) {
    Grouped& one = group->commands[i];
    if (one.asking) connection_->send(resp_command({"ASKING"}), [](RespResult) {});
    connection_->send(
        one.wire, [group, i](RespResult result) { group->commands[i].result = std::move(result); });
    one.wire.clear();
  }
  const std::string proof = proof_key(group->commands.front().bucket);
  connection_->send(resp_command({"SET", proof, ""}), [group](const RespResult& result) {
    group->is_proof_written = result && !result->is_error();
  });
  const std::string wanted = std::to_string(common_.replicas);
  const std::string patience = std::to_string(kReplicaTimeout.count());
  auto self = shared_from_this();
  connection_->send(resp_command({"WAIT", wanted, patience}), [self, group](RespResult result) {
    const auto count = result ? result->number() : std::nullopt;
    group->is_acknowledged = count && *count >= static_cast<long long>(self->common_.replicas);
    self->finish_group(*group);
  });
}

void Link::finish_group(Group& group) {
  group_is_out_ = false;
  std::vector<Grouped> finished = std::move(group.commands);
  if (!is_up()) {
    std::ranges::move(std::exchange(waiting_, {}), std::back_inserter(finished));
  } else if (!waiting_.empty()) {
    send_group();
  }
  for (Grouped& one : finished) {
    if (!one.result) one.result = std::unexpected(RespLoss::not_sent);
    Outcome outcome = to_outcome(std::move(*one.result), ended_phrase(*group.over));
    if (auto* answered = std::get_if<Answered>(&outcome)) {
      answered->write_is_replicated = group.is_acknowledged;
      answered->read_is_replicated = group.is_acknowledged && group.is_proof_written;
    }
    one.done(std::move(outcome));
  }
}

}  // namespace semel::stores::redis
