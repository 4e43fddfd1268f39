#include "config/config.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/config_support.h"
#include "config/parse.h"

namespace semel::config::test {
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
  EXPECT_EQ(config.store.kind, stores::StoreKind::embedded);
  EXPECT_EQ(config.store.path, "./semel-data");
  EXPECT_EQ(config.store.durability, stores::Durability::power);
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
store_keys: digest
record_format: 2
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
  EXPECT_EQ(config.store_keys, StoreKeys::digest);
  EXPECT_EQ(config.record_format, 2);
  EXPECT_EQ(config.store.durability, stores::Durability::crash);
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
              ElementsAre(EndsWith("unknown key; allowed keys: listen, tokens_file")));
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
      {"':8080'", "names no address; write 127.0.0.1:8080, or 0.0.0.0:8080 for all addresses"},
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
      {"127.0.0.1:9090", "admin.listen: port 9090 of 127.0.0.1 is already used by listen"},
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
                ElementsAre(HasSubstr("can be reached from other machines over plain HTTP")))
        << outside;
    EXPECT_THAT(
        errors_of(with_top("store: {kind: memory}\nadmin: {" + listen + "}")),
        ElementsAre(HasSubstr("admin.tokens_file: required unless the address is loopback")))
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
      {"{from: none, name: X}", "tenant.name: allowed only with from: header"},
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
              ElementsAre(HasSubstr("tenant.from: header is trusted only from trusted_proxies")));
  EXPECT_THAT(errors_of(with_top("tenant: {from: header, name: X-T}\ntrusted_proxies: []")),
              ElementsAre(HasSubstr("tenant.from: header is trusted only from trusted_proxies")));
  EXPECT_THAT(errors_of(with_top("tenant: {from: header}\ntrusted_proxies: [10.0.0.1]")),
              ElementsAre(HasSubstr("tenant.name: required with from: header")));
  EXPECT_THAT(errors_of(with_top("tenant: {from: header, name: 'X T'}\ntrusted_proxies: ['::1']")),
              ElementsAre(HasSubstr("tenant.name: 'X T' is not a header name")));
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

TEST(Config, RefusesWhatALaterVersionBrings) {
  EXPECT_THAT(errors_of(with_top("store: {kind: dynamodb}")),
              ElementsAre(HasSubstr("not in this version of semel")));
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
  EXPECT_EQ(config.store.kind, stores::StoreKind::embedded);
  const RouteConfig& charges = config.routes.at(0);
  EXPECT_EQ(charges.path, "/v1/charges");
  EXPECT_TRUE(charges.key.required);
  EXPECT_EQ(charges.in_progress, InProgress::wait);
  EXPECT_EQ(charges.operation.tombstone, days(7));
}

}  // namespace
}  // namespace semel::config::test
