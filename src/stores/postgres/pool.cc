#include "stores/postgres/pool.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/backoff.h"
#include "base/random.h"
#include "engine/spawn.h"

namespace semel::stores {
namespace asio = boost::asio;
using asio::awaitable;
using namespace std::chrono_literals;

namespace {

constexpr auto kBackoffMin = 20ms;
constexpr auto kBackoffMax = 1s;
constexpr auto kHelloTimeout = 5s;
constexpr std::size_t kConnectingThreads = 2;
constexpr std::size_t kCallsInFlightMax = 2;

awaitable<void> wait(asio::steady_timer& timer) {
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace

awaitable<postgres::PgReply> pg_call(postgres::PgConnection& connection, const char* statement,
                                     std::vector<postgres::PgValue> parameters,
                                     std::chrono::steady_clock::duration timeout) {
  auto initiate = [&connection, statement, timeout](auto handler,
                                                    std::vector<postgres::PgValue> values) {
    connection.send({.statement = statement,
                     .parameters = std::move(values),
                     .reply = std::move(handler),
                     .deadline = std::chrono::steady_clock::now() + timeout});
  };
  return asio::async_initiate<const asio::use_awaitable_t<>, void(postgres::PgReply)>(
      initiate, asio::use_awaitable, std::move(parameters));
}

PostgresPool::PostgresPool(asio::io_context& context, Options options, PostgresClock& clock,
                           Events events)
    : context_(context),
      options_(std::move(options)),
      clock_(clock),
      events_(std::move(events)),
      connecting_("semel-connect", kConnectingThreads) {
  for (std::size_t i = 0; i < options_.connections + 1; ++i) {
    slots_.push_back(std::make_unique<Slot>(context));
  }
  slots_.back()->purpose = PgPurpose::listening;
}

void PostgresPool::start() {
  for (auto& slot : slots_)
    asio::co_spawn(context_, keep(*slot), engine::OrStop{"keeping a session of PostgreSQL"});
}

void PostgresPool::close() {
  closing_ = true;
  for (auto& slot : slots_) {
    slot->pause.cancel();
    if (slot->connection) slot->connection->close("the store is being closed");
  }
}

awaitable<void> PostgresPool::keep(Slot& slot) {
  base::Backoff backoff(kBackoffMin, kBackoffMax);
  while (!closing_) {
    auto open = [url = options_.url, schema = options_.schema, purpose = slot.purpose] {
      return open_pg_session(url, schema, purpose);
    };
    auto session = co_await connecting_.run(std::move(open));
    if (closing_) break;
    PgSessionError error;
    if (session) {
      error = co_await serve(slot, *std::move(session));
    } else {
      error = std::move(session.error());
    }
    if (slot.ready) backoff.reset();
    slot.ready = false;
    slot.connection.reset();
    if (!has_any()) {
      say(error.why);
      clock_.forget();
    }
    tell(std::move(error));
    events_.changed();
    if (closing_) break;
    // Jittered, so that the nodes of a cluster do not come back in step.
    slot.pause.expires_after(base::jittered(backoff.next(), base::random_number()));
    co_await wait(slot.pause);
  }
  tell(PgSessionError{.why = "the store is being closed"});
}

awaitable<PgSessionError> PostgresPool::serve(Slot& slot, PgSession session) {
  postgres::PgConnection::Events events;
  // Stored in the slot, because a loss that fails a call ends serve() before this is called.
  events.lost = [&slot](const std::string& reason) {
    slot.lost_because = reason;
    slot.ended.cancel();
  };
  if (slot.purpose == PgPurpose::listening) events.notified = events_.notified;
  slot.ended.expires_at(asio::steady_timer::time_point::max());
  auto made = postgres::PgConnection::make(context_, std::move(session.link), std::move(events));
  if (!made) co_return PgSessionError{.why = made.error()};
  slot.connection = *made;
  slot.item_types = session.item_types;

  std::vector<postgres::PgValue> name;
  name.push_back(postgres::pg_text(options_.node));
  postgres::PgReply hello =
      co_await pg_call(*slot.connection, pg_statement::kHello, std::move(name), kHelloTimeout);
  if (!hello) {
    PgSessionError error{.why = hello.error().why};
    slot.connection->close(error.why);
    co_return error;
  }
  clock_.saw(hello->number(0, 0), hello->asked_at, std::chrono::steady_clock::now());
  slot.ready = true;
  if (slot.purpose == PgPurpose::records) {
    say(std::nullopt);
    tell(std::nullopt);
  } else {
    events_.listens();
  }
  events_.changed();
  while (slot.connection->is_open()) co_await wait(slot.ended);
  co_return PgSessionError{.why = slot.lost_because};
}

std::optional<PostgresPool::Room> PostgresPool::with_room(bool worth_it) {
  const Slot* best = nullptr;
  for (const auto& slot : slots_) {
    if (slot->purpose != PgPurpose::records || !slot->ready || !slot->connection->is_open()) {
      continue;
    }
    const std::size_t in_flight = slot->connection->in_flight();
    if (!best || in_flight < best->connection->in_flight()) best = slot.get();
  }
  const std::size_t most = worth_it ? kCallsInFlightMax : 1;
  if (!best || best->connection->in_flight() >= most) return std::nullopt;
  return Room{*best->connection, best->item_types};
}

bool PostgresPool::has_any() const {
  return std::ranges::any_of(slots_, [](const auto& slot) {
    return slot->purpose == PgPurpose::records && slot->ready && slot->connection &&
           slot->connection->is_open();
  });
}

postgres::PgConnection* PostgresPool::listener() {
  Slot& slot = *slots_.back();
  return slot.ready && slot.connection->is_open() ? slot.connection.get() : nullptr;
}

void PostgresPool::look_at_deadlines() {
  const auto now = std::chrono::steady_clock::now();
  for (auto& slot : slots_) {
    const auto connection = slot->connection;
    if (connection) connection->look_at_deadlines(now);
  }
}

std::optional<PgSessionError> PostgresPool::first_outcome() {
  std::unique_lock lock(mutex_);
  told_.wait(lock, [this] { return has_outcome_; });
  return outcome_;
}

std::optional<std::string> PostgresPool::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void PostgresPool::tell(std::optional<PgSessionError> outcome) {
  const std::lock_guard lock(mutex_);
  if (has_outcome_) return;
  has_outcome_ = true;
  outcome_ = std::move(outcome);
  told_.notify_all();
}

void PostgresPool::say(std::optional<std::string> trouble) {
  const std::lock_guard lock(mutex_);
  trouble_ = std::move(trouble);
}

}  // namespace semel::stores
