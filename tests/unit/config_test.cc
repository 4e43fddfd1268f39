#include "config/config.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/parse.h"
#include "unit/config_support.h"

namespace semel::config_test {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST(Config, FillsInEveryDefault) {
  const Config config =
      config_of("tenant: {from: none}\nroutes: [{path: /*, upstream: http://up}]");
  EXPECT_EQ(config.file, "semel.yaml");
  EXPECT_EQ(config.listen, (std::vector<HostPort>{{"127.0.0.1", 8080}}));
  EXPECT_EQ(config.admin.listen, (HostPort{"127.0.0.1", 9090}));
  EXPECT_EQ(config.workers, 0u);
  EXPECT_EQ(config.name_space, "default");
  EXPECT_EQ(config.store.kind, StoreKind::embedded);
  EXPECT_EQ(config.store.path, "./semel-data");
  EXPECT_EQ(config.store.durability, Durability::power);
  EXPECT_EQ(config.limits.connections, 10'000u);
  EXPECT_EQ(config.limits.header_bytes, 32u * 1024);
  EXPECT_EQ(config.limits.header_timeout, seconds(10));
  EXPECT_EQ(config.limits.body_timeout, seconds(30));
  EXPECT_EQ(config.limits.in_flight, 4096u);
  EXPECT_EQ(config.spool.path, "");
  EXPECT_EQ(config.spool.bytes_max, std::size_t{1} << 30);
  EXPECT_EQ(config.store.free_bytes_min, std::size_t{512} << 20);
  EXPECT_EQ(config.drain_timeout, seconds(30));
  EXPECT_EQ(config.log.format, LogFormat::text);
  EXPECT_EQ(config.log.level, LogLevel::info);
  EXPECT_EQ(config.log.keys, LogKeys::digest);
  EXPECT_THAT(config.trusted_proxies, IsEmpty());
}

TEST(Config, ReadsEveryTopLevelKey) {
  const Config config = config_of(R"(
listen: ["0.0.0.0:80", "[::1]:0"]
workers: 8
namespace: prod.eu-1_a
admin: {listen: "[::1]:9999"}
store: {kind: embedded, path: /var/lib/semel, durability: crash}
store_keys: plain
trusted_proxies: [10.0.0.0/8, "fd00::/8", 192.0.2.1]
tenant: {from: header, name: X-Tenant}
limits: {connections: 5, header_bytes: 64KiB, header_timeout: 1s, body_timeout: 1m, in_flight: 6}
drain_timeout: 0
spool: {path: /var/spool/semel, bytes_max: 2GiB}
log: {format: json, level: debug, keys: full}
routes: [{path: /*, upstream: http://up}]
)");
  EXPECT_EQ(config.listen, (std::vector<HostPort>{{"0.0.0.0", 80}, {"::1", 0}}));
  EXPECT_EQ(config.workers, 8u);
  EXPECT_EQ(config.name_space, "prod.eu-1_a");
  EXPECT_EQ(config.admin.listen, (HostPort{"::1", 9999}));
  EXPECT_EQ(config.store.path, "/var/lib/semel");
  EXPECT_EQ(config.store.durability, Durability::crash);
  ASSERT_EQ(config.trusted_proxies.size(), 3u);
  EXPECT_EQ(config.trusted_proxies[1].text, "fd00::/8");
  EXPECT_EQ(config.tenant.from, TenantSource::header);
  EXPECT_EQ(config.tenant.header_name, "X-Tenant");
  EXPECT_EQ(config.limits.connections, 5u);
  EXPECT_EQ(config.limits.header_bytes, 64u * 1024);
  EXPECT_EQ(config.limits.header_timeout, seconds(1));
  EXPECT_EQ(config.limits.body_timeout, minutes(1));
  EXPECT_EQ(config.limits.in_flight, 6u);
  EXPECT_EQ(config.drain_timeout, seconds(0));
  EXPECT_EQ(config.spool, (SpoolConfig{.path = "/var/spool/semel", .bytes_max = 2UZ << 30}));
  EXPECT_EQ(config.log.format, LogFormat::json);
  EXPECT_EQ(config.log.level, LogLevel::debug);
  EXPECT_EQ(config.log.keys, LogKeys::full);
}

TEST(Config, AnErrorNamesFileLineKeyAndRemedy) {
  EXPECT_THAT(errors_of("tenant: {from: none}\n"
                        "routes:\n"
                        "  - path: /*\n"
                        "    upstream: http://up\n"
                        "    unknwon: hold\n"),
              ElementsAre("semel.yaml:5: routes[0].unknwon: unknown key; did you mean 'unknown'?"));
}

TEST(Config, PrintsNoLineAndNoKeyWhereThereIsNone) {
  EXPECT_EQ(to_string({"f.yaml", 0, "tenant", "required"}), "f.yaml: tenant: required");
  EXPECT_EQ(to_string({"f.yaml", 3, "", "bad"}), "f.yaml:3: bad");
}

TEST(Config, CollectsEveryErrorInTheOrderOfTheFile) {
  EXPECT_THAT(errors_of("workers: many\n"
                        "lisen: 127.0.0.1:1\n"
                        "log: {level: loud}\n"
                        "routes:\n"
                        "  - path: nowhere\n"
                        "    ttl: 5\n"),
              ElementsAre(StartsWith("semel.yaml: tenant: required"),
                          StartsWith("semel.yaml:1: workers: 'many' is not a whole number"),
                          "semel.yaml:2: lisen: unknown key; did you mean 'listen'?",
                          StartsWith("semel.yaml:3: log.level: 'loud'"),
                          StartsWith("semel.yaml:5: routes[0].path: 'nowhere'"),
                          StartsWith("semel.yaml:5: routes[0].upstream: required"),
                          StartsWith("semel.yaml:6: routes[0].ttl: '5' is not a duration")));
}

TEST(Config, SuggestsOnlyWhatIsNear) {
  EXPECT_THAT(errors_of(with_top("store: {durabilty: crash}")),
              ElementsAre(EndsWith("did you mean 'durability'?")));
  EXPECT_THAT(errors_of(with_top("Workers: 2")), ElementsAre(EndsWith("did you mean 'workers'?")));
  EXPECT_THAT(errors_of(with_top("admin: {colour: red}")),
              ElementsAre(EndsWith("unknown key; allowed are listen, tokens_file")));
  EXPECT_THAT(errors_of(with_top("colour: red")), ElementsAre(EndsWith(": colour: unknown key")));
}

TEST(Config, RefusesAKeyGivenTwice) {
  EXPECT_THAT(errors_of(with_top("workers: 1\nlog:\n  level: info\n  level: debug\nworkers: 2")),
              ElementsAre("semel.yaml:4: log.level: given twice; the first is on line 3",
                          "semel.yaml:5: workers: given twice; the first is on line 1"));
}

TEST(Config, RefusesWrongTypes) {
  EXPECT_THAT(errors_of(with_top("workers: [1]")),
              ElementsAre("semel.yaml:1: workers: must be a single value, not a list"));
  EXPECT_THAT(errors_of(with_top("log: json")),
              ElementsAre(HasSubstr("log: must be a mapping, like {name: value}, not a single")));
  EXPECT_THAT(errors_of(with_top("trusted_proxies: 10.0.0.1")),
              ElementsAre(HasSubstr("trusted_proxies: must be a list, like [a, b], not a single")));
  EXPECT_THAT(errors_of(with_top("workers:")),
              ElementsAre(HasSubstr("workers: has no value; write a single value, or remove")));
  EXPECT_THAT(errors_of(with_top("listen: {host: a}")),
              ElementsAre(HasSubstr("listen: must be a list")));
  EXPECT_THAT(errors_of("[1, 2]"), ElementsAre(HasSubstr("must be a mapping")));
  EXPECT_THAT(errors_of("# nothing\n"), ElementsAre(HasSubstr("the file is empty")));
}

TEST(Config, AWrongTypeIsReportedOnceAndReadNoFurther) {
  for (const char* top :
       {"listen: [[]]", "namespace: []", "admin: {listen: []}", "store: {path: []}",
        "store: {kind: {}}", "store_keys: []", "trusted_proxies: [[]]", "tenant: {from: []}",
        "limits: {connections: []}", "limits: {header_bytes: []}", "drain_timeout: []"}) {
    EXPECT_THAT(errors_of(with_top(top)), ElementsAre(HasSubstr("must be a"))) << top;
  }
  EXPECT_THAT(errors_of(with_top("tenant: {from: header, name: []}\ntrusted_proxies: ['::1']")),
              ElementsAre(HasSubstr("tenant.name: must be a single value")));
  EXPECT_THAT(errors_of(with_top("store: {path: '${NOPE}'}")), SizeIs(1));
}

TEST(Config, RefusesBadValues) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"workers: 257", "workers: '257' is out of range; it must be between 0 and 256"},
      {"workers: -1", "'-1' is not a whole number"},
      {"workers: 99999999999999999999", "is not a whole number"},
      {"namespace: a b", "namespace: 'a b' must be 1 to 64 letters"},
      {"namespace: ''", "must be 1 to 64 letters"},
      {"store: {path: ''}", "store.path: '' must be 1 to 4096 printable"},
      {"store: {durability: none}", "'none' is not allowed here; use power, crash"},
      {"limits: {header_bytes: 1023}", "must be between 1KiB and 1MiB"},
      {"limits: {header_bytes: 2MiB}", "must be between 1KiB and 1MiB"},
      {"limits: {header_bytes: 1KB}", "'1KB' is not a size; write 64KiB"},
      {"limits: {connections: 0}", "must be between 1 and"},
      {"limits: {in_flight: 0}", "must be between 1 and"},
      {"limits: {header_timeout: 0s}", "must be between 1ms and"},
      {"limits: {body_timeout: 0s}", "must be between 1ms and"},
      {"drain_timeout: 1.5s", "'1.5s' is not a duration; write a whole number and a unit"},
      {"drain_timeout: 4000d", "'4000d' is longer than 3650d"},
      {"drain_timeout: 99999999999999999999d", "is not a duration"},
      {"log: {format: xml}", "use text, json"},
      {"log: {keys: none}", "use digest, full"},
  };
  for (const auto& [top, expected] : cases) {
    EXPECT_THAT(errors_of(with_top(top)), ElementsAre(HasSubstr(expected))) << top;
  }
}

TEST(Config, ReadsDurationsAndSizes) {
  const std::vector<std::pair<std::string, Duration>> durations = {
      {"0", milliseconds(0)}, {"0s", milliseconds(0)}, {"500ms", milliseconds(500)},
      {"5s", seconds(5)},     {"10m", minutes(10)},    {"24h", hours(24)},
      {"7d", days(7)},        {"3650d", days(3650)}};
  for (const auto& [text, expected] : durations) {
    EXPECT_EQ(config_of(with_top("drain_timeout: " + text)).drain_timeout, expected) << text;
  }
  EXPECT_EQ(config_of(with_route("max_stored_body: 1GiB")).routes[0].max_stored_body, 1u << 30);
  EXPECT_EQ(config_of(with_route("max_stored_body: 3MiB")).routes[0].max_stored_body, 3u << 20);
  EXPECT_EQ(config_of(with_route("max_stored_body: 1500")).routes[0].max_stored_body, 1500u);
}

TEST(Config, RefusesAddressesItCannotListenOn) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"':8080'", "names no address; write 127.0.0.1:8080, or 0.0.0.0:8080 for all of them"},
      {"localhost:8080", "write an IP address and a port: 127.0.0.1:8080"},
      {"127.0.0.1", "write an IP address and a port"},
      {"'::1:8080'", "write an IP address and a port"},
      {"'[::1]'", "write an IP address and a port"},
      {"'[127.0.0.1]:80'", "write an IP address and a port"},
      {"'[::1]x:80'", "write an IP address and a port"},
      {"\"127.0.0.1\\0:80\"", "write an IP address and a port"},
      {"127.0.0.1:65536", "it must be between 0 and 65535"},
      {"'127.0.0.1:'", "it must be between 0 and 65535"},
      {"[]", "must name at least one address"},
      {"['127.0.0.1:80', '127.0.0.1:80']", "listen[1]: '127.0.0.1:80' is listed twice"},
      {"127.0.0.1:9090", "admin.listen: port 9090 of 127.0.0.1 is also in listen"},
  };
  for (const auto& [listen, expected] : cases) {
    EXPECT_THAT(errors_of(with_top("listen: " + listen)), ElementsAre(HasSubstr(expected)))
        << listen;
  }
  EXPECT_EQ(config_of(with_top("listen: ['127.0.0.1:0', '127.0.0.1:0']")).listen.size(), 2u);
}

TEST(Config, AdminElsewhereThanOnLoopbackNeedsTokens) {
  for (const char* outside : {"0.0.0.0:9090", "10.0.0.1:9090", "'[::]:9090'", "'[::2]:9090'"}) {
    const std::string listen = "listen: " + std::string(outside);
    EXPECT_THAT(warnings_of(with_top("admin: {" + listen + "}")),
                ElementsAre(HasSubstr("is reached from other machines in plain HTTP")))
        << outside;
    EXPECT_THAT(errors_of(with_top("store: {kind: memory}\nadmin: {" + listen + "}")),
                ElementsAre(HasSubstr("admin.tokens_file: required with an address that is not")))
        << outside;
    EXPECT_EQ(config_of(with_top("store: {kind: memory}\nadmin: {tokens_file: t, " + listen + "}"))
                  .admin.tokens_file,
              "t");
  }
  for (const char* inside : {"127.0.0.1:1", "127.9.9.9:1", "'[::1]:1'", "'[0:0:0:0:0:0:0:1]:1'"}) {
    config_of(with_top("admin: {listen: " + std::string(inside) + "}"));
  }
}

TEST(Config, AsksForATenantAsSoonAsKeysCanBeUsed) {
  EXPECT_THAT(errors_of("routes: [{path: /*, upstream: http://up}]"),
              ElementsAre(AllOf(StartsWith("semel.yaml: tenant: required"),
                                HasSubstr("{from: authorization}"), HasSubstr("{from: header"),
                                HasSubstr("{from: none}"))));
  config_of("routes: [{path: /*, upstream: http://up, methods: []}]");
}

TEST(Config, ChecksTheTenant) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{}", "tenant.from: required; use authorization, jwt,"},
      {"{from: cookie}", "'cookie' is not allowed here; use authorization, jwt,"},
      {"{from: none, name: X}", "tenant.name: only with from: header"},
      {"none", "tenant: must be a mapping"},
  };
  for (const auto& [tenant, expected] : cases) {
    EXPECT_THAT(errors_of(with_top("tenant: " + tenant)), ElementsAre(HasSubstr(expected)))
        << tenant;
  }
  EXPECT_EQ(config_of(with_top("tenant: {from: authorization}")).tenant.from,
            TenantSource::authorization);
}

TEST(Config, ATenantHeaderNeedsANameAndSomebodyToTrust) {
  EXPECT_THAT(errors_of(with_top("tenant: {from: header, name: X-T}")),
              ElementsAre(HasSubstr("tenant.from: header is believed only from trusted_proxies")));
  EXPECT_THAT(errors_of(with_top("tenant: {from: header, name: X-T}\ntrusted_proxies: []")),
              ElementsAre(HasSubstr("tenant.from: header is believed only from trusted_proxies")));
  EXPECT_THAT(errors_of(with_top("tenant: {from: header}\ntrusted_proxies: [10.0.0.1]")),
              ElementsAre(HasSubstr("tenant.name: required with from: header")));
  EXPECT_THAT(errors_of(with_top("tenant: {from: header, name: 'X T'}\ntrusted_proxies: ['::1']")),
              ElementsAre(HasSubstr("tenant.name: 'X T' is not the name of a header")));
}

TEST(Config, ChecksTrustedProxies) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"10.0.0.0/33", "must end in a prefix length from 0 to 32"},
      {"fd00::/129", "must end in a prefix length from 0 to 128"},
      {"10.0.0.0/", "must end in a prefix length"},
      {"10.0.0.0/08", "must end in a prefix length"},
      {"10.0.0.0/8/8", "must end in a prefix length"},
      {"proxy.local", "is not an address; write 10.1.2.3"},
      {"10.0.0", "is not an address"},
      {"::ffff:10.0.0.0/104", "write it as IPv4"},
      {"0:0:0:0:0:ffff:a00:1", "write it as IPv4"},
  };
  for (const auto& [range, expected] : cases) {
    EXPECT_THAT(errors_of(with_top("trusted_proxies: ['" + range + "']")),
                ElementsAre(AllOf(HasSubstr("trusted_proxies[0]: "), HasSubstr(expected))))
        << range;
  }
  EXPECT_THAT(warnings_of(with_top("trusted_proxies: [0.0.0.0/0]")),
              ElementsAre(HasSubstr("trusted_proxies[0]: trusts every caller")));
  EXPECT_THAT(warnings_of(with_top("trusted_proxies: [10.0.0.0/10]")), IsEmpty());
}

TEST(Config, TheMemoryStoreHasNoPath) {
  EXPECT_EQ(config_of(with_top("store: {kind: memory}")).store.kind, StoreKind::memory);
  EXPECT_THAT(warnings_of(with_top("store: {kind: memory, path: x, durability: crash}")),
              ElementsAre(HasSubstr("store.durability: has an effect with kind: embedded only"),
                          HasSubstr("store.path: has an effect with kind: embedded only")));
}

TEST(Config, EncryptionNeedsAFileOfKeys) {
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

TEST(Config, ReadsAPostgresStore) {
  const StoreConfig store =
      config_of(with_top("store: {kind: postgres, url: 'postgresql://semel@db/semel', schema: "
                         "other_1, connections: 8}"))
          .store;
  EXPECT_EQ(store.kind, StoreKind::postgres);
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
              ElementsAre(HasSubstr("store.url: has an effect with kind: postgres or redis only")));
}

TEST(Config, ReadsARedisStore) {
  const auto store = [](const std::string& members) {
    return config_of(with_top("store: {kind: redis, " + members + "}")).store;
  };
  const auto errors = [](const std::string& members) {
    return errors_of(with_top("store: {kind: redis, " + members + "}"));
  };
  const RedisConfig one =
      store("replicas: 2, url: 'rediss://u:p%40@cache:7000/3', ca: a.pem").redis;
  EXPECT_EQ(one.url, "rediss://u:p%40@cache:7000/3");
  EXPECT_EQ(one.replicas, 2u);
  EXPECT_EQ(one.ca, "a.pem");
  const RedisConfig watched =
      store("sentinel: {master: m, hosts: ['a', 'b:7', '[::1]:8'], password: s}").redis;
  EXPECT_EQ(watched.sentinel_master, "m");
  EXPECT_EQ(watched.sentinel_password, "s");
  EXPECT_THAT(watched.sentinels,
              ElementsAre(RedisAddress{"a", 26379}, RedisAddress{"b", 7}, RedisAddress{"::1", 8}));
  EXPECT_THAT(store("cluster: ['a', 'b:7']").redis.cluster,
              ElementsAre(RedisAddress{"a", 6379}, RedisAddress{"b", 7}));

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
  EXPECT_THAT(errors("cluster: [a], url: 'redis://a/1'"), ElementsAre(HasSubstr("no database")));
  EXPECT_THAT(errors("sentinel: {}"), ElementsAre(HasSubstr("sentinel.hosts: required"),
                                                  HasSubstr("sentinel.master: required")));
  EXPECT_THAT(errors("cluster: [a], sentinel: {master: m, hosts: [a]}"),
              ElementsAre(HasSubstr("remove one")));
}

TEST(Config, ReadsATieredStore) {
  const std::string durable = "durable: {kind: postgres, url: 'postgresql://db/semel', schema: s}";
  const std::string cache = "cache: {kind: redis, url: 'redis://cache'}";
  const auto of = [](const std::string& members) {
    return with_top("store: {kind: tiered, " + members + "}");
  };
  const StoreConfig store = config_of(of(durable + ", " + cache + ", cache_for: 9s")).store;
  EXPECT_EQ(store.kind, StoreKind::tiered);
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
  EXPECT_THAT(
      warnings_of(with_top("store: {kind: memory, local_cache: 1MiB, cache_for: 1s}")),
      ElementsAre(HasSubstr("store.local_cache: has an effect with kind: embedded, postgres")));
  EXPECT_EQ(config_of(with_top("store: {kind: redis, url: 'redis://a', local_cache: 1MiB}"))
                .store.local_cache_bytes,
            1u << 20);
  EXPECT_EQ(config_of(with_top("store: {local_cache: 0}")).store.local_cache_bytes, 0u);
  EXPECT_THAT(warnings_of(with_top("store: {local_cache: 1MiB, cache_for: 1s}")),
              ElementsAre(HasSubstr("store.cache_for: has an effect with kind: tiered, or")));
}

TEST(Config, LiveKeysAreNotCountedOnASharedStore) {
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

TEST(Config, RefusesWhatALaterVersionBrings) {
  for (const char* top : {"api: {listen: a}", "store: {kind: dynamodb}"}) {
    EXPECT_THAT(errors_of(with_top(top)), ElementsAre(HasSubstr("not in this version of semel")))
        << top;
  }
  EXPECT_THAT(errors_of(with_top("api: {listen: a}")),
              ElementsAre("semel.yaml:1: api: not in this version of semel; remove it"));
}

TEST(Config, ExpandsVariablesInValues) {
  const Environment environment = {{"WORKERS", "3"}, {"EMPTY", ""}, {"DIR", "/data"}};
  const auto path = [&](const std::string& text) {
    return config_of(with_top("store: {path: \"" + text + "\"}"), environment).store.path;
  };
  EXPECT_EQ(config_of(with_top("workers: ${WORKERS}"), environment).workers, 3u);
  EXPECT_EQ(path("${DIR}/a-${WORKERS}"), "/data/a-3");
  EXPECT_EQ(path("${UNSET:-/tmp:-x}"), "/tmp:-x");
  EXPECT_EQ(path("${EMPTY:-/tmp}"), "/tmp");
  EXPECT_EQ(path("x${EMPTY}${UNSET:-}"), "x");
  EXPECT_EQ(path("$${DIR}$$"), "${DIR}$");
  EXPECT_EQ(config_of(with_top("trusted_proxies: ['${UNSET:-10.0.0.1}']")).trusted_proxies[0].text,
            "10.0.0.1");
}

TEST(Config, AVariableCannotAddStructure) {
  const Environment environment = {{"LEVEL", "debug, keys: full"}, {"AGAIN", "${LEVEL}"}};
  EXPECT_THAT(errors_of(with_top("log: {level: '${LEVEL}'}"), environment),
              ElementsAre(HasSubstr("log.level: '${LEVEL}' is not allowed here")));
  EXPECT_EQ(config_of(with_top("store: {path: '${AGAIN}'}"), environment).store.path, "${LEVEL}");
}

TEST(Config, NeverShowsWhatAVariableHeld) {
  EXPECT_THAT(errors_of(with_top("workers: ${SECRET}"), {{"SECRET", "hunter2"}}),
              ElementsAre("semel.yaml:1: workers: '${SECRET}' is not a whole number"));
}

TEST(Config, RefusesBadVariables) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"${NOPE}", "needs the environment variable NOPE, which is not set"},
      {"${NOPE", "has a '${' without its '}'"},
      {"${}", "has a '${' without a variable's name"},
      {"${1A}", "has a '${' without a variable's name"},
      {"${A-b}", "has a '${' without a variable's name"},
      {"${A:-${B}}", "has a variable inside a variable's default"},
      {"$HOME", "has a lone '$'"},
      {"5$", "has a lone '$'"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_THAT(errors_of(with_top("store:\n  path: '" + text + "'")),
                ElementsAre(AllOf(StartsWith("semel.yaml:2: store.path: '"), HasSubstr(expected))))
        << text;
  }
}

TEST(Config, ReportsYamlThatDoesNotParse) {
  EXPECT_THAT(errors_of("listen: 127.0.0.1:80\nlog: {level: info\nworkers: 1\n"),
              ElementsAre(AllOf(StartsWith("semel.yaml:"), HasSubstr("not valid YAML: "))));
  EXPECT_THAT(errors_of("a: b\n\tc: d\n"), ElementsAre(StartsWith("semel.yaml:2: not valid YAML")));
  EXPECT_THAT(errors_of("a: \"\\\x1b\"\n"),
              ElementsAre("semel.yaml:1: not valid YAML: unknown escape character: ?"));
  EXPECT_THAT(errors_of("a: *nobody\n"), ElementsAre(StartsWith("semel.yaml:1: not valid YAML")));
  EXPECT_THAT(errors_of("a: 1\n---\nb: 2\n"),
              ElementsAre(StartsWith("semel.yaml:2: text after the end of the document")));
  EXPECT_THAT(errors_of("? [a]\n: b\n"), ElementsAre(HasSubstr("a key that is not a plain word")));
}

TEST(Config, UnderstandsAliases) {
  const Config config = config_of(R"(
tenant: {from: none}
routes:
  - &first {path: /a, upstream: http://up, key: &key {min_length: 9}}
  - {path: /b, upstream: http://up, key: *key}
)");
  EXPECT_EQ(config.routes.at(1).key.rules.min_length, 9u);
}

std::string repeat(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST(Config, RefusesHostileFilesQuickly) {
  EXPECT_THAT(errors_of(std::string((1 << 20) + 1, '#')),
              ElementsAre("semel.yaml: the file is larger than 1MiB"));
  const std::string as_large_as_allowed = std::string((1 << 20) - 200, '#') + "\n" + with_top("");
  config_of(as_large_as_allowed);
  for (const char* opening : {"[", "{", "{a: ", "[a: ", "- ", "? ", "'a': {"}) {
    EXPECT_THAT(errors_of(repeat(opening, 100'000)),
                ElementsAre(HasSubstr("nested deeper than 16 levels")))
        << opening;
  }
  EXPECT_THAT(errors_of(repeat("- a\n", 60'000)),
              ElementsAre("semel.yaml:50001: too many values, counting each use of an alias"));
  EXPECT_THAT(errors_of("a: &a [*a]"), ElementsAre(HasSubstr("an alias inside the value")));
}

TEST(Config, RefusesAliasBombs) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1) + ", ";
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeat(below, 10) + "]\n";
  }
  EXPECT_THAT(errors_of(bomb), ElementsAre(HasSubstr("counting each use of an alias")));
  const std::string wide = "a: &a " + std::string(100'000, 'x') + "\nb: [" + repeat("*a, ", 100);
  EXPECT_THAT(errors_of(wide + "]"), ElementsAre(HasSubstr("counting each use of an alias")));
}

TEST(Config, BoundsWhatVariablesExpandTo) {
  EXPECT_THAT(errors_of(with_top("store: {path: '" + repeat("${X}", 1000) + "'}"),
                        {{"X", std::string(1000, 'x')}}),
              ElementsAre(HasSubstr("is longer than 4096 characters")));
}

TEST(Config, BoundsListsAndShortensWhatItQuotes) {
  EXPECT_THAT(errors_of(with_top("trusted_proxies: [" + repeat("10.0.0.1, ", 257) + "]")),
              ElementsAre(HasSubstr("trusted_proxies: has more than 256 entries")));
  EXPECT_THAT(errors_of(with_top("workers: \"\\e[2J" + std::string(100, 'x') + "\"")),
              ElementsAre(HasSubstr("'?[2J" + std::string(60, 'x') + "…' is not")));
  EXPECT_THAT(errors_of(with_top("\"a\\nb" + std::string(100, 'x') + "\": 1")),
              ElementsAre(HasSubstr(": a?b" + std::string(61, 'x') + "…: unknown key")));
}

TEST(Config, TheExamplesAreValid) {
  // Secrets have no default.
  Environment environment = {
      {"STANDARD_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
      {"STANDARD_PUBLIC_KEY", "whpk_wKHRBfQy2JFrVJb6mDDZpNTTFpNciK8XcxG+e3QjLTM="}};
  for (const char* name : {"STRIPE", "GITHUB", "SHOPIFY", "SLACK", "PARTNER"}) {
    environment[std::string(name) + "_SECRET"] = "a secret that is long enough";
  }
  const auto examples = std::filesystem::path(__FILE__).parent_path() / "../../examples";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(examples)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    const std::string yaml(std::istreambuf_iterator<char>(file), {});
    const ConfigOutcome outcome = parse_config(yaml, entry.path().filename(), environment);
    EXPECT_THAT(lines(outcome.errors), IsEmpty());
    EXPECT_THAT(lines(outcome.warnings), IsEmpty());
    ++count;
  }
  EXPECT_GE(count, 2);
}

TEST(Config, ThePaymentsExampleSaysWhatItPromises) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "../../examples/payments.yaml";
  std::ifstream file(path);
  const Config config = config_of(std::string(std::istreambuf_iterator<char>(file), {}));
  EXPECT_EQ(config.tenant.from, TenantSource::authorization);
  EXPECT_EQ(config.store.kind, StoreKind::embedded);
  const RouteConfig& charges = config.routes.at(0);
  EXPECT_EQ(charges.path, "/v1/charges");
  EXPECT_TRUE(charges.key.required);
  EXPECT_EQ(charges.in_progress, InProgress::wait);
  EXPECT_EQ(charges.policy.tombstone, days(7));
}

}  // namespace
}  // namespace semel::config_test
