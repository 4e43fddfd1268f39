// Drives one store for bench/stores/run, and prints one JSON object.
//
//   bench_stores STORE cycles SECONDS IN_FLIGHT             claim and completion of new keys
//   bench_stores STORE claims SECONDS IN_FLIGHT             claims alone
//   bench_stores STORE prepare COUNT PREFIX                 makes completed records
//   bench_stores STORE replays COUNT PREFIX TIMES IN_FLIGHT claims them again, so many times
//   bench_stores - script                                   the script of a swap in Redis
//
// STORE: embedded:PATH, postgres:URL, redis:URL or tiered:URL,URL (PostgreSQL's, then Redis').
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <random>

#include "../store_load.h"
#include "stores/open.h"
#include "stores/redis/layout.h"
#include "stores/redis/scripts.h"

namespace {

using namespace semel::bench;
using semel::Record;
using semel::stores::StoreKind;

constexpr int kPreparedAtOnce = 64;

semel::stores::StoreConfig config_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string where = colon == std::string::npos ? "" : text.substr(colon + 1);
  semel::stores::StoreConfig config;
  config.cache_for = std::chrono::minutes(10);
  if (kind == "embedded") {
    config.path = where;
  } else if (kind == "postgres") {
    config.kind = semel::stores::StoreKind::postgres;
    config.url = where;
  } else if (kind == "redis") {
    config.kind = semel::stores::StoreKind::redis;
    config.redis.url = where;
  } else if (kind == "tiered") {
    const std::size_t comma = where.find(',');
    config.kind = semel::stores::StoreKind::tiered;
    config.url = where.substr(0, comma);
    config.redis.url = where.substr(comma + 1);
  } else {
    throw std::runtime_error("no such kind of store: " + kind);
  }
  return config;
}

struct Bench : Load {
  int replays_left = 0;

  awaitable<void> claimer() {
    while (Steady::now() < until) {
      ++next;
      Record record = claim_of(prefix + std::to_string(next), next);
      const semel::RecordId id = record.id;
      const auto begun = Steady::now();
      const auto claimed = co_await store.swap(id, 0, std::make_shared<Record>(std::move(record)));
      const bool applied = std::holds_alternative<semel::swap::Applied>(claimed);
      ++(applied ? cycles : failed);
      claims.add(begun);
    }
  }

  awaitable<void> replayer(int count) {
    while (replays_left-- > 0) {
      std::string key = prefix + std::to_string(replays_left % count);
      const bool answered = co_await one_replay(std::move(key));
      ++(answered ? cycles : failed);
    }
  }
};

boost::json::object seen(Bench& bench, Steady::time_point begun) {
  const double took = std::chrono::duration<double>(Steady::now() - begun).count();
  return {{"count", bench.cycles},
          {"per_second", double(bench.cycles) / took},
          {"failed", bench.failed},
          {"p50_ms", bench.claims.at(0.5)},
          {"p99_ms", bench.claims.at(0.99)}};
}

boost::json::object timed(semel::Store& store, const std::string& mode, int seconds,
                          int in_flight) {
  asio::io_context context;
  const auto begun = Steady::now();
  Bench bench{
      {store, std::to_string(std::random_device()()) + "-", begun + std::chrono::seconds(seconds)}};
  for (int i = 0; i < in_flight; ++i) {
    asio::co_spawn(context, mode == "claims" ? bench.claimer() : bench.client(), asio::detached);
  }
  context.run();
  boost::json::object out = seen(bench, begun);
  // The size of a value, for sending commands of the same weight.
  out["value_bytes"] = semel::stores::redis::to_value(claim_of(bench.prefix + "1", 1), 1).size();
  return out;
}

boost::json::object prepare(semel::Store& store, int count, const std::string& prefix) {
  asio::io_context context;
  const auto begun = Steady::now();
  Bench bench{{store, prefix, {}}};
  for (int i = 0; i < kPreparedAtOnce; ++i) {
    asio::co_spawn(context, bench.prepare(i, count, kPreparedAtOnce), asio::detached);
  }
  context.run();
  return seen(bench, begun);
}

boost::json::object replays(semel::Store& store, int count, const std::string& prefix, int times,
                            int in_flight) {
  asio::io_context context;
  const auto begun = Steady::now();
  Bench bench{{store, prefix, {}}, times};
  for (int i = 0; i < in_flight; ++i) {
    asio::co_spawn(context, bench.replayer(count), asio::detached);
  }
  context.run();
  return seen(bench, begun);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[1] == "script") {
    std::fputs(std::string(semel::stores::redis::swap_script().source).c_str(), stdout);
    return 0;
  }
  if (words.size() < 4) {
    std::fputs("usage: bench_stores STORE MODE …: see bench/stores/driver.cc\n", stderr);
    return 2;
  }
  auto store = semel::stores::open_store(config_of(words[0]), {}, [](const std::string&) {});
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().c_str());
    return 1;
  }
  boost::json::object out;
  if (words[1] == "prepare") {
    out = prepare(**store, std::stoi(words[2]), words[3]);
  } else if (words[1] == "replays" && words.size() == 6) {
    out = replays(**store, std::stoi(words[2]), words[3], std::stoi(words[4]), std::stoi(words[5]));
  } else {
    out = timed(**store, words[1], std::stoi(words[2]), std::stoi(words[3]));
  }
  std::puts(boost::json::serialize(out).c_str());
}
