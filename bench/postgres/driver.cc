// Drives the store `postgres` for bench/postgres/run, and prints one JSON object.
//
//   bench_postgres URL cycles SECONDS IN_FLIGHT             claim and completion of new keys
//   bench_postgres URL sweep SECONDS IN_FLIGHT              the same, while what is expired is
//   removed bench_postgres URL beside SECONDS IN_FLIGHT KEY         the same, while one more asks
//   for KEY bench_postgres URL prepare COUNT PREFIX                 makes completed records
//   bench_postgres URL replay COUNT PREFIX                  claims them again, one after another
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <random>

#include "semel/scope.h"
#include "stores/postgres.h"

namespace {

namespace asio = boost::asio;
using asio::awaitable;
using semel::Record;
using Steady = std::chrono::steady_clock;

constexpr std::size_t kBodyBytes = 200;
constexpr auto kSweepPause = std::chrono::milliseconds(50);  // EngineOptions::tick
constexpr std::size_t kSweepBatch = 256;                     // EngineOptions::sweep_batch

semel::Time wall() {
  return std::chrono::time_point_cast<semel::Duration>(std::chrono::system_clock::now());
}

Record claim_of(const std::string& key, std::uint64_t number) {
  const semel::Time now = wall();
  Record record;
  record.id = semel::make_id({"default", "bench", "charges"}, key);
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

void complete(Record& record) {
  record.state = semel::State::completed;
  record.result = semel::Result::succeeded;
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

struct Bench {
  semel::Store& store;
  std::string prefix;
  Steady::time_point until;
  std::uint64_t next = 0;
  std::uint64_t cycles = 0;
  std::uint64_t failed = 0;
  std::uint64_t busy = 0;
  bool working = true;
  Times claims = {};
  Times completions = {};

  awaitable<bool> one_cycle(std::string key) {
    Record record = claim_of(key, ++next);
    const semel::RecordId id = record.id;
    const auto begun = Steady::now();
    const auto claimed = co_await store.swap(id, 0, record);
    const auto* applied = std::get_if<semel::swap::Applied>(&claimed);
    if (!applied) co_return false;
    claims.add(begun);
    complete(record);
    const auto ending = Steady::now();
    const auto completed = co_await store.swap(id, applied->version, std::move(record));
    if (!std::holds_alternative<semel::swap::Applied>(completed)) co_return false;
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

  // What every gateway does, without a rest between batches longer than its tick.
  awaitable<void> sweeper() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (working) {
      const auto due = co_await store.sweep(wall(), kSweepBatch);
      if (!due) ++failed;
      timer.expires_after(kSweepPause);
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  // A client of a key whose record somebody else has locked.
  awaitable<void> one_who_is_held_up(std::string key) {
    while (working) {
      Record record = claim_of(key, ++next);
      const semel::RecordId id = record.id;
      const auto read = co_await store.read(id);
      const semel::Version at = read && *read ? (*read)->version : 0;
      const auto result = co_await store.swap(id, at, std::move(record));
      if (std::holds_alternative<semel::swap::Busy>(result)) ++busy;
    }
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

boost::json::object cycles(semel::PostgresStore& store, const std::string& mode, int seconds,
                           int in_flight, const std::string& held_key) {
  asio::io_context context;
  const auto begun = Steady::now();
  Bench bench{store, std::to_string(std::random_device()()) + "-",
              begun + std::chrono::seconds(seconds)};
  int clients = 0, others = 0;
  for (int i = 0; i < in_flight; ++i) start(context, bench.client(), clients);
  if (mode == "sweep") start(context, bench.sweeper(), others);
  if (mode == "beside") start(context, bench.one_who_is_held_up(held_key), others);
  while (clients > 0) context.run_one();
  const double took = std::chrono::duration<double>(Steady::now() - begun).count();
  bench.working = false;
  context.run();
  return {{"cycles", bench.cycles},
          {"cycles_per_second", double(bench.cycles) / took},
          {"failed", bench.failed},
          {"busy", bench.busy},
          {"claim_p50_ms", bench.claims.at(0.5)},
          {"claim_p99_ms", bench.claims.at(0.99)},
          {"completion_p99_ms", bench.completions.at(0.99)}};
}

awaitable<void> prepare(Bench& bench, int from, int count) {
  for (int i = from; i < count; i += 64) {
    if (!co_await bench.one_cycle(bench.prefix + std::to_string(i))) ++bench.failed;
  }
}

awaitable<void> replay(Bench& bench, int count) {
  for (int i = 0; i < count; ++i) {
    Record record = claim_of(bench.prefix + std::to_string(i), ++bench.next);
    const semel::RecordId id = record.id;
    const auto begun = Steady::now();
    const auto result = co_await bench.store.swap(id, 0, std::move(record));
    const auto* conflict = std::get_if<semel::swap::Conflict>(&result);
    const bool answered =
        conflict && conflict->current && conflict->current->answer.body.size() == kBodyBytes;
    if (!answered) ++bench.failed;
    bench.claims.add(begun);
  }
}

boost::json::object sequence(semel::PostgresStore& store, const std::string& mode, int count,
                             const std::string& prefix) {
  asio::io_context context;
  Bench bench{store, prefix, {}};
  if (mode == "replay") {
    asio::co_spawn(context, replay(bench, count), asio::detached);
  } else {
    for (int i = 0; i < 64; ++i) asio::co_spawn(context, prepare(bench, i, count), asio::detached);
  }
  context.run();
  return {{"failed", bench.failed},
          {"p50_ms", bench.claims.at(0.5)},
          {"p99_ms", bench.claims.at(0.99)}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("usage: bench_postgres URL MODE …: see bench/postgres/driver.cc\n", stderr);
    return 2;
  }
  auto store = semel::PostgresStore::open({.url = argv[1]});
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().c_str());
    return 1;
  }
  const std::string mode = argv[2];
  const int number = std::stoi(argv[3]);
  const boost::json::object seen =
      mode == "prepare" || mode == "replay"
          ? sequence(**store, mode, number, argv[4])
          : cycles(**store, mode, number, std::stoi(argv[4]), argc > 5 ? argv[5] : "");
  std::puts(boost::json::serialize(seen).c_str());
}
