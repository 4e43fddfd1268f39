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

#include "../store_load.h"
#include "stores/postgres/store.h"

namespace {

using namespace semel::bench;
using semel::Record;

constexpr auto kSweepPause = std::chrono::milliseconds(50);  // EngineOptions::tick
constexpr std::size_t kSweepBatch = 256;                     // EngineOptions::sweep_batch

struct Bench : Load {
  std::uint64_t busy = 0;
  bool working = true;

  // Sweeps as every gateway does, with no rest between batches longer than its tick.
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
      const auto result = co_await store.swap(id, at, std::make_shared<Record>(std::move(record)));
      if (std::holds_alternative<semel::swap::Busy>(result)) ++busy;
    }
  }
};

boost::json::object cycles(semel::Store& store, const std::string& mode, int seconds, int in_flight,
                           const std::string& held_key) {
  asio::io_context context;
  const auto begun = Steady::now();
  Bench bench{
      {store, std::to_string(std::random_device()()) + "-", begun + std::chrono::seconds(seconds)}};
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

awaitable<void> replay(Bench& bench, int count) {
  for (int i = 0; i < count; ++i) {
    if (!co_await bench.one_replay(bench.prefix + std::to_string(i))) ++bench.failed;
  }
}

boost::json::object sequence(semel::Store& store, const std::string& mode, int count,
                             const std::string& prefix) {
  asio::io_context context;
  Bench bench{{store, prefix, {}}};
  if (mode == "replay") {
    asio::co_spawn(context, replay(bench, count), asio::detached);
  } else {
    for (int i = 0; i < 64; ++i)
      asio::co_spawn(context, bench.prepare(i, count, 64), asio::detached);
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
  auto store = semel::stores::open_postgres_store({.url = argv[1]});
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
