#include "stores/redis/listener.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace semel::stores::redis {
namespace asio = boost::asio;
using asio::awaitable;
using boost::system::error_code;
using resp::resp_command;

namespace {
constexpr Duration kListenAgainAfter = std::chrono::milliseconds(500);
constexpr int kLooksPerPing = 20;
}  // namespace

Listener::Listener(const Common& common, Nodes& nodes, Waiting& waiting)
    : common_(common), nodes_(nodes), waiting_(waiting), again_(common.executor) {}

awaitable<void> Listener::keep() {
  for (int looks = 1; !closed_; ++looks) {
    has_changed_ = false;
    co_await adjust();
    if (has_changed_ || closed_) continue;
    if (looks % kLooksPerPing == 0) ping();
    again_.expires_after(kListenAgainAfter);
    error_code ignored;
    co_await again_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

// Pings every connection: one on which nothing is published looks no different from a dead one.
void Listener::ping() {
  for (auto& [address, ear] : ears_) {
    ear.connection->send(resp_command({"PING"}), [this](const resp::RespResult& reply) {
      if (reply) heard(*reply);
    });
  }
}

void Listener::look() {
  has_changed_ = true;
  again_.cancel();
}

void Listener::close() {
  closed_ = true;
  again_.cancel();
  for (auto& [address, ear] : ears_) ear.connection->close();
}

awaitable<void> Listener::adjust() {
  std::map<RedisAddress, Buckets> wanted;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (const auto server = nodes_.server_of(static_cast<Bucket>(bucket))) {
      wanted[*server].insert(static_cast<Bucket>(bucket));
    }
  }
  for (auto one = ears_.begin(); one != ears_.end();) {
    const auto found = wanted.find(one->first);
    const bool stays = found != wanted.end() && found->second == one->second.buckets &&
                       one->second.connection->is_open();
    if (stays) {
      ++one;
    } else {
      one->second.connection->close();
      one = ears_.erase(one);
    }
  }
  for (auto& [address, buckets] : wanted) {
    if (closed_) co_return;
    if (!ears_.contains(address)) co_await listen(address, std::move(buckets));
  }
}

awaitable<void> Listener::listen(RedisAddress to, Buckets buckets) {
  auto connection =
      co_await connect_to(common_, to, [this](const resp::RespReply& message) { heard(message); });
  if (!connection) co_return;
  if (closed_) {
    (*connection)->close();
    co_return;
  }
  // Channels of one command must be in one slot. A message on the first channel may come before the
  // reply to the last command, so heard() takes both.
  for (const Bucket bucket : buckets) {
    const std::string name = channel(bucket);
    (*connection)
        ->send(resp_command({common_.is_cluster ? "SSUBSCRIBE" : "SUBSCRIBE", name}),
               [this](const resp::RespResult& reply) {
                 if (reply) heard(*reply);
               });
  }
  // Ends of claims from before the server knew of us were not heard.
  (*connection)->send(resp_command({"PING"}), [this](const resp::RespResult& reply) {
    if (reply) heard(*reply);
    waiting_.look();
  });
  ears_.emplace(std::move(to), Ear{*std::move(connection), std::move(buckets)});
}

void Listener::heard(const resp::RespReply& message) {
  const std::string_view kind = message.at(0).text();
  if (kind == "message" || kind == "smessage") waiting_.published(message.at(2).text());
  // The slot has moved to another server.
  if (kind == "sunsubscribe") look();
}

}  // namespace semel::stores::redis
