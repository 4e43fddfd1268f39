#pragma once

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "stores/redis/resp/resp.h"
#include "stores/redis/store.h"
#include "stores/suite.h"

namespace semel::stores {

enum class RedisSetup { single, replicated, cluster };

// The servers that tests/harness/servers/with_redis.py has started.
inline RedisConfig redis_config(RedisSetup setup) {
  const auto from = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    if (!value) throw std::runtime_error("run it through tests/harness/servers/with_redis.py");
    return value;
  };
  RedisConfig config;
  switch (setup) {
    case RedisSetup::single:
      config.url = from("SEMEL_TEST_REDIS");
      break;
    case RedisSetup::replicated:
      config.url = from("SEMEL_TEST_REDIS_REPLICATED");
      config.replicas = 1;
      break;
    case RedisSetup::cluster: {
      std::string rest = from("SEMEL_TEST_REDIS_CLUSTER");
      while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        config.cluster.push_back(parse_redis_address(rest.substr(0, comma), 0).value());
        rest.erase(0, comma + 1);
      }
      break;
    }
  }
  return config;
}

inline std::unique_ptr<Store> open_redis_or_throw(RedisConfig config) {
  auto store = open_redis_store(std::move(config), {});
  if (!store) throw std::runtime_error(store.error());
  return *std::move(store);
}

// Says something to a server, on a connection of the test's own, and reads one reply.
resp::RespReply in_redis(const RedisAddress& server,
                         std::initializer_list<std::string_view> command);
void empty_redis(const RedisConfig& config);

// A Redis store with nothing in it.
class RedisHarness final : public StoreHarness {
 public:
  explicit RedisHarness(RedisSetup setup) : config_(redis_config(setup)) {
    empty_redis(config_);
    reopen();
  }

  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = open_redis_or_throw(config_);
  }

 private:
  RedisConfig config_;
  std::unique_ptr<Store> store_;
};

}  // namespace semel::stores
