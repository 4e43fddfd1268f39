#include "config/config.h"

#include "config/config_support.h"
#include "config/parse.h"

namespace semel::config::test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ConfigStore, TheMemoryStoreHasNoPath) {
  EXPECT_EQ(config_of(with_top("store: {kind: memory}")).store.kind, stores::StoreKind::memory);
  EXPECT_THAT(warnings_of(with_top("store: {kind: memory, path: x, durability: crash}")),
              ElementsAre(HasSubstr("store.durability: has an effect only with kind: embedded"),
                          HasSubstr("store.path: has an effect only with kind: embedded")));
}

TEST(ConfigStore, ExpiredRecordsAreRemovedAllDayOrInAWindow) {
  using std::chrono::hours;
  const auto cleanup = [](const std::string& window) {
    return config_of(with_top("cleanup: {window: " + window + "}")).store.cleanup;
  };
  EXPECT_EQ(config_of(with_top("workers: 1")).store.cleanup, std::nullopt);
  EXPECT_EQ(cleanup("always"), std::nullopt);
  EXPECT_EQ(cleanup("02:00-05:00"), (stores::CleanupWindow{hours(2), hours(5)}));
  EXPECT_EQ(cleanup("'22:00-04:00'"), (stores::CleanupWindow{hours(22), hours(4)}));
  EXPECT_THAT(errors_of(with_top("cleanup: {window: at night}")),
              ElementsAre(HasSubstr("cleanup.window: 'at night' must be always, or two times")));
  EXPECT_THAT(errors_of(with_top("cleanup: {windows: always}")),
              ElementsAre(HasSubstr("did you mean 'window'")));
  EXPECT_THAT(errors_of(with_top("cleanup: {window: 02:00-05:00}\n"
                                 "store: {kind: redis, url: 'redis://cache'}")),
              ElementsAre(HasSubstr("cleanup.window: needs store: {kind: embedded}")));
}

TEST(ConfigStore, EncryptionNeedsAFileOfKeys) {
  EXPECT_EQ(config_of(with_top("encryption: {keys_file: /etc/semel/keys}")).store.keys_file,
            "/etc/semel/keys");
  EXPECT_EQ(config_of(with_top("workers: 1")).store.keys_file, "");
  EXPECT_THAT(errors_of(with_top("encryption: {}")),
              ElementsAre(HasSubstr("encryption.keys_file: required")));
  EXPECT_THAT(errors_of(with_top("encryption: {keys_file: ''}")),
              ElementsAre(HasSubstr("encryption.keys_file")));
  EXPECT_THAT(errors_of(with_top("encryption: {key_file: a}")),
              testing::Contains(HasSubstr("did you mean 'keys_file'")));
}

TEST(ConfigStore, ReadsAPostgresStore) {
  const stores::StoreConfig store =
      config_of(with_top("store: {kind: postgres, url: 'postgresql://semel@db/semel', schema: "
                         "other_1, connections: 8}"))
          .store;
  EXPECT_EQ(store.kind, stores::StoreKind::postgres);
  EXPECT_EQ(store.url, "postgresql://semel@db/semel");
  EXPECT_EQ(store.schema, "other_1");
  EXPECT_EQ(store.connections, 8u);
  const auto errors = [](const std::string& members) {
    return errors_of(with_top("store: {kind: postgres, " + members + "}"));
  };
  EXPECT_THAT(errors("connections: 4"), ElementsAre(HasSubstr("store.url: required")));
  EXPECT_THAT(errors("url: 'mysql://db'"), ElementsAre(HasSubstr("must begin with postgresql://")));
  const std::string url = "url: 'postgresql://db/semel', ";
  EXPECT_THAT(errors(url + "connections: 0"), ElementsAre(HasSubstr("store.connections")));
  for (const char* schema : {"Semel", "1a", "pg_semel", "a-b", "''"}) {
    EXPECT_THAT(errors(url + "schema: " + schema), ElementsAre(HasSubstr("store.schema")))
        << schema;
  }
  EXPECT_THAT(warnings_of(with_top("store: {kind: memory, url: 'postgresql://db/semel'}")),
              ElementsAre(HasSubstr("store.url: has an effect only with kind: postgres or redis")));
}

TEST(ConfigStore, ReadsARedisStore) {
  const auto store = [](const std::string& members) {
    return config_of(with_top("store: {kind: redis, " + members + "}")).store;
  };
  const auto errors = [](const std::string& members) {
    return errors_of(with_top("store: {kind: redis, " + members + "}"));
  };
  const stores::RedisConfig one =
      store("replicas: 2, url: 'rediss://u:p%40@cache:7000/3', ca: a.pem").redis;
  EXPECT_EQ(one.url, "rediss://u:p%40@cache:7000/3");
  EXPECT_EQ(one.replicas, 2u);
  EXPECT_EQ(one.ca, "a.pem");
  const stores::RedisConfig watched =
      store("sentinel: {master: m, hosts: ['a', 'b:7', '[::1]:8'], password: s}").redis;
  EXPECT_EQ(watched.sentinel_master, "m");
  EXPECT_EQ(watched.sentinel_password, "s");
  EXPECT_THAT(watched.sentinels,
              ElementsAre(stores::RedisAddress{"a", 26379}, stores::RedisAddress{"b", 7},
                          stores::RedisAddress{"::1", 8}));
  EXPECT_THAT(store("cluster: ['a', 'b:7']").redis.cluster,
              ElementsAre(stores::RedisAddress{"a", 6379}, stores::RedisAddress{"b", 7}));

  EXPECT_THAT(errors("replicas: 1"), ElementsAre(HasSubstr("store.url: required")));
  EXPECT_THAT(errors("url: 'postgresql://db/x'"),
              ElementsAre(HasSubstr("must begin with redis://")));
  for (const char* url : {"redis://", "redis://a:0", "redis://a:b", "redis://a/x", "redis://u@a",
                          "redis://u:%@a", "redis://:@a", "redis://a b"}) {
    EXPECT_THAT(errors("url: '" + std::string(url) + "'"), ElementsAre(HasSubstr("store.url")))
        << url;
  }
  EXPECT_THAT(errors("url: 'redis://a', replicas: 17"), ElementsAre(HasSubstr("store.replicas")));
  EXPECT_THAT(errors("cluster: []"), ElementsAre(HasSubstr("at least one host:port")));
  EXPECT_THAT(errors("cluster: ['a:']"), ElementsAre(HasSubstr("store.cluster[0]")));
  EXPECT_THAT(errors("cluster: [a], url: 'redis://a/1'"),
              ElementsAre(HasSubstr("has only database 0")));
  EXPECT_THAT(errors("sentinel: {}"), ElementsAre(HasSubstr("sentinel.hosts: required"),
                                                  HasSubstr("sentinel.master: required")));
  EXPECT_THAT(errors("cluster: [a], sentinel: {master: m, hosts: [a]}"),
              ElementsAre(HasSubstr("remove sentinel or cluster")));
}

TEST(ConfigStore, ReadsATieredStore) {
  const std::string durable = "durable: {kind: postgres, url: 'postgresql://db/semel', schema: s}";
  const std::string cache = "cache: {kind: redis, url: 'redis://cache'}";
  const auto of = [](const std::string& members) {
    return with_top("store: {kind: tiered, " + members + "}");
  };
  const stores::StoreConfig store = config_of(of(durable + ", " + cache + ", cache_for: 9s")).store;
  EXPECT_EQ(store.kind, stores::StoreKind::tiered);
  EXPECT_EQ(store.url, "postgresql://db/semel");
  EXPECT_EQ(store.schema, "s");
  EXPECT_EQ(store.redis.url, "redis://cache");
  EXPECT_EQ(store.cache_for, std::chrono::seconds(9));
  EXPECT_THAT(errors_of(of(durable)), ElementsAre(HasSubstr("store.cache: required")));
  EXPECT_THAT(errors_of(of(cache)), ElementsAre(HasSubstr("store.durable: required")));
  EXPECT_THAT(errors_of(of(durable + ", cache: {kind: memory}")),
              ElementsAre(HasSubstr("store.cache.kind: must be redis here")));
  EXPECT_THAT(errors_of(of(cache + ", durable: {kind: redis, url: 'redis://a'}")),
              ElementsAre(HasSubstr("store.durable.kind: must be postgres here")));
  EXPECT_THAT(warnings_of(with_top("store: {kind: memory, local_cache: 1MiB, cache_for: 1s}")),
              ElementsAre(HasSubstr(
                  "store.local_cache: has an effect only with kind: embedded, postgres")));
  EXPECT_EQ(config_of(with_top("store: {kind: redis, url: 'redis://a', local_cache: 1MiB}"))
                .store.local_cache_bytes,
            1u << 20);
  EXPECT_EQ(config_of(with_top("store: {local_cache: 0}")).store.local_cache_bytes, 0u);
  EXPECT_THAT(warnings_of(with_top("store: {local_cache: 1MiB, cache_for: 1s}")),
              ElementsAre(HasSubstr("store.cache_for: has an effect only with kind: tiered, or")));
}

TEST(ConfigStore, LiveKeysAreNotCountedOnASharedStore) {
  const std::string route =
      "tenant: {from: none}\n"
      "routes: [{path: /a, upstream: 'http://127.0.0.1:1', limits: {live_keys: 5}}]\n";
  EXPECT_THAT(errors_of("store: {kind: postgres, url: 'postgresql://db/semel'}\n" + route),
              ElementsAre(HasSubstr("live_keys: needs store: {kind: embedded}")));
  EXPECT_THAT(errors_of(route), ElementsAre());
  const std::string of_all =
      "tenant: {from: none}\nlimits: {live_keys: 5, new_keys_per_second: 2}\n"
      "routes: [{path: /a, upstream: 'http://127.0.0.1:1'}]\n";
  EXPECT_THAT(errors_of("store: {kind: postgres, url: 'postgresql://db/semel'}\n" + of_all),
              ElementsAre(HasSubstr("limits.live_keys: needs store: {kind: embedded}")));
  EXPECT_THAT(errors_of(of_all), ElementsAre());
}

}  // namespace
}  // namespace semel::config::test
