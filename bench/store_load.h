#pragma once

// The load of the benchmarks of stores: records like the gateway's, and clients that claim and
// complete them.
#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "semel/driver/scope.h"
#include "semel/driver/store.h"

namespace semel::bench {

namespace asio = boost::asio;
using asio::awaitable;
using Steady = std::chrono::steady_clock;

inline constexpr std::size_t kBodyBytes = 200;

inline Time wall() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

inline Record claim_of(const std::string& key, std::uint64_t number) {
  const Time now = wall();
  Record record;
  record.id = make_id({"default", "bench", "charges"}, key);
  record.attempt = 1;
  std::memcpy(record.token.bytes.data(), &number, sizeof number);
  record.token.bytes[15] = 1;
  record.owner = {"bench", 1};
  record.fingerprint.digest = record.id.bytes;
  record.created_at = record.updated_at = now;
  record.lease_until = now + std::chrono::seconds(30);
  record.ttl = std::chrono::hours(24);
  record.response_version = "1";
  record.tenant = "bench";
  record.operation = "charges";
  record.key = key;
  return record;
}

inline void complete(Record& record) {
  record.state = RecordState::completed;
  record.result = RecordResult::succeeded;
  record.answer = {201, {{"Content-Type", "application/json"}}, std::string(kBodyBytes, 'x')};
  record.updated_at = wall();
  record.expires_at = record.tombstone_until = record.updated_at + record.ttl;
}

struct Times {
  std::vector<double> ms;
  void add(Steady::time_point since) {
    ms.push_back(std::chrono::duration<double, std::milli>(Steady::now() - since).count());
  }
  double at(double quantile) {
    if (ms.empty()) return 0;
    std::ranges::sort(ms);
    return ms[std::min(ms.size() - 1, static_cast<std::size_t>(quantile * double(ms.size())))];
  }
};

// Clients of one store.
struct Load {
  Store& store;
  std::string prefix;
  Steady::time_point until;
  std::uint64_t next = 0;
  std::uint64_t cycles = 0;
  std::uint64_t failed = 0;
  Times claims = {};
  Times completions = {};

  awaitable<bool> one_cycle(std::string key) {
    Record record = claim_of(key, ++next);
    const RecordId id = record.id;
    const auto begun = Steady::now();
    const auto claimed = co_await store.swap(id, 0, std::make_shared<Record>(record));
    const auto* applied = std::get_if<swap::Applied>(&claimed);
    if (!applied) co_return false;
    claims.add(begun);
    complete(record);
    const auto ending = Steady::now();
    const auto completed =
        co_await store.swap(id, applied->version, std::make_shared<Record>(std::move(record)));
    if (!std::holds_alternative<swap::Applied>(completed)) co_return false;
    completions.add(ending);
    co_return true;
  }

  awaitable<void> client() {
    while (Steady::now() < until) {
      std::string key = prefix + std::to_string(++next);
      if (co_await one_cycle(std::move(key))) {
        ++cycles;
      } else {
        ++failed;
      }
    }
  }

  // The keys prefix + n for every n of `step`'s residue class of `from`, below `count`.
  awaitable<void> prepare(int from, int count, int step) {
    for (int i = from; i < count; i += step) {
      if (!co_await one_cycle(prefix + std::to_string(i))) ++failed;
    }
  }

  // Claims a completed record again. False: the answer did not come back.
  awaitable<bool> one_replay(std::string key) {
    Record record = claim_of(key, ++next);
    const RecordId id = record.id;
    const auto begun = Steady::now();
    const auto result = co_await store.swap(id, 0, std::make_shared<Record>(std::move(record)));
    claims.add(begun);
    const auto* conflict = std::get_if<swap::Conflict>(&result);
    co_return conflict && conflict->current && conflict->current->answer.body.size() == kBodyBytes;
  }
};

template <class Awaitable>
void start(asio::io_context& context, Awaitable work, int& running) {
  ++running;
  asio::co_spawn(context, std::move(work), [&running](std::exception_ptr failed) {
    --running;
    if (failed) std::rethrow_exception(failed);
  });
}

}  // namespace semel::bench
