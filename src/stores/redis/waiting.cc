#include "stores/redis/waiting.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>

#include "engine/spawn.h"

namespace semel::stores::redis {
namespace asio = boost::asio;
using asio::awaitable;
using boost::system::error_code;

namespace {

constexpr Duration kPollEvery = std::chrono::seconds(1);
// Longer than a poll, so that the server is told again before it forgets.
constexpr Duration kToldFor = std::chrono::seconds(4);

}  // namespace

awaitable<void> Waiting::ended(RecordId id, Token token, Duration timeout) {
  if (closed_) co_return;
  const Claim claim{id, token};
  auto& listed = claims_[claim];
  if (!listed) {
    listed = std::make_shared<Entry>(common_.executor);
    asio::co_spawn(common_.executor, watch(claim, listed),
                   engine::OrReport{"waiting for a claim in Redis"});
  }
  const auto entry = listed;
  asio::steady_timer until(common_.executor, timeout);
  const auto mine = entry->waiters.insert(entry->waiters.end(), &until);
  error_code ignored;
  co_await until.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  entry->waiters.erase(mine);
  if (entry->waiters.empty() && !entry->is_over) end(claim);
}

void Waiting::end(const Claim& claim) {
  const auto found = claims_.find(claim);
  if (found == claims_.end()) return;
  const auto entry = found->second;
  claims_.erase(found);
  entry->is_over = true;
  for (asio::steady_timer* waiter : entry->waiters) waiter->cancel();
  entry->poll.cancel();
}

void Waiting::published(std::string_view message) {
  RecordId id;
  Token token;
  if (message.size() != id.bytes.size() + token.bytes.size()) return;
  std::memcpy(id.bytes.data(), message.data(), id.bytes.size());
  std::memcpy(token.bytes.data(), message.data() + id.bytes.size(), token.bytes.size());
  end({id, token});
}

void Waiting::look() {
  for (const auto& [claim, entry] : claims_) entry->poll.cancel();
}

void Waiting::close() {
  closed_ = true;
  while (!claims_.empty()) end(Claim(claims_.begin()->first));
}

awaitable<void> Waiting::watch(Claim claim, std::shared_ptr<Entry> entry) {
  const auto& [id, token] = claim;
  while (!entry->is_over && !closed_) {
    Command command{.bucket = bucket_of(id),
                    .script = &await_script(),
                    .arguments = {"2", record_key(id), waiting_key(id), raw(token),
                                  std::to_string(kToldFor.count())}};
    const CallResult told = co_await nodes_.call(std::move(command));
    if (told && told->reply.number() == 0) end(claim);
    if (entry->is_over || closed_) co_return;
    entry->poll.expires_after(kPollEvery);
    error_code ignored;
    co_await entry->poll.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

}  // namespace semel::stores::redis
