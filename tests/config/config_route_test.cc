#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/config_support.h"

namespace semel::config::test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct BadValue {
  std::string members;
  std::string expected;
};

void expect_refused(const std::vector<BadValue>& cases) {
  for (const auto& [members, expected] : cases) {
    EXPECT_THAT(errors_of(with_route(members)),
                ElementsAre(AllOf(HasSubstr("semel.yaml:3: routes[0]."), HasSubstr(expected))))
        << members;
  }
}

TEST(ConfigRoute, FillsInEveryDefault) {
  const RouteConfig route = route_of("");
  EXPECT_EQ(route.name, "/*");
  EXPECT_THAT(route.methods, ElementsAre("POST", "PATCH"));
  EXPECT_EQ(route.connect_timeout, seconds(2));
  EXPECT_EQ(route.upstream_timeout, seconds(30));
  EXPECT_EQ(route.upstream_idle, seconds(2));
  EXPECT_EQ(route.late_answer, seconds(60));
  EXPECT_FALSE(route.key.required);
  EXPECT_EQ(route.key.header, "Idempotency-Key");
  EXPECT_EQ(route.key.from, KeySource::header);
  EXPECT_EQ(route.key.rules.max_length, 255u);
  EXPECT_EQ(route.fingerprint.body, BodyFingerprint::automatic);
  EXPECT_EQ(route.in_progress, InProgress::conflict);
  EXPECT_EQ(route.operation.unknown, UnknownPolicy::hold);
  EXPECT_EQ(route.operation.hold_for, Duration::max());
  EXPECT_EQ(route.operation.ttl, hours(24));
  EXPECT_EQ(route.operation.tombstone, seconds(0));
  EXPECT_EQ(route.max_request_body, 8u << 20);
  EXPECT_EQ(route.replayed_header, "Idempotency-Replayed");
  EXPECT_EQ(route.status_mismatch, 422);
  EXPECT_EQ(route.errors, core::ErrorShape::problem);
  EXPECT_EQ(kind_of(route, 500), OutcomeKind::retry);
  EXPECT_EQ(route.line, 3);
}

TEST(ConfigRoute, RefusesHeadersThatHaveAnotherUse) {
  for (const char* name : {"Content-Length", "host", "Transfer-Encoding", "Semel-Token"}) {
    for (const char* where : {"replayed_header: ", "key: {header: ", "key: {aliases: ["}) {
      std::string line = std::string(where) + name;
      if (line.contains('[')) line += "]";
      if (line.contains('{')) line += "}";
      EXPECT_THAT(
          errors_of("tenant: {from: none}\nroutes:\n  - {path: /a, upstream: http://h, " + line +
                    "}\n"),
          ElementsAre(AllOf(HasSubstr("has another use in HTTP"),
                            HasSubstr(line.contains("key:") ? "like Idempotency-Key"
                                                            : "like Idempotency-Replayed"))))
          << line;
    }
  }
}

TEST(ConfigRoute, RefusesAMarkOfReplaysThatHasAnotherUseInAnswers) {
  for (const char* name : {"Idempotency-Key", "idempotency-expires", "Idempotency-Replay", "age",
                           "Idempotency-Degraded", "IDEMPOTENCY-OUTCOME"}) {
    EXPECT_THAT(errors_of(with_route(std::string("replayed_header: ") + name)),
                ElementsAre(AllOf(HasSubstr("replayed_header: '" + std::string(name) +
                                            "' has another use in answers of Semel"),
                                  HasSubstr("like Idempotency-Replayed"))));
  }
}

TEST(ConfigRoute, RefusesAMarkOfReplaysThatIsTheRoutesKeyHeader) {
  const auto refused = ElementsAre(HasSubstr("replayed_header: is "));
  EXPECT_THAT(errors_of(with_route("key: {header: X-Key}, replayed_header: x-key")), refused);
  EXPECT_THAT(errors_of(with_route("key: {aliases: [X-Old, X-Key]}, replayed_header: X-Key")),
              refused);
  EXPECT_THAT(errors_of(with_route("key: {header: Idempotency-Replayed}")), refused);
  EXPECT_THAT(
      errors_of("defaults: {replayed_header: X-Key}\n" + with_route("key: {header: X-Key}")),
      refused);
  EXPECT_EQ(route_of("key: {header: X-Key}, replayed_header: X-Key-Replayed").replayed_header,
            "X-Key-Replayed");
}

TEST(ConfigRoute, ReadsTheOtherChoices) {
  EXPECT_EQ(route_of("scope: tenant").scope, ScopeKind::tenant);
  EXPECT_EQ(route_of("errors: nested").errors, core::ErrorShape::nested);
  EXPECT_EQ(route_of("unknown: fail").operation.unknown, UnknownPolicy::fail);
  EXPECT_EQ(route_of("key: {format: strong}").key.rules.format, KeyFormat::strong);
  EXPECT_EQ(route_of("key: {required: false, pointer: ''}").key.pointer, "");
  EXPECT_EQ(route_of("fingerprint: {body: form}").fingerprint.body, BodyFingerprint::form);
  EXPECT_EQ(route_of("fingerprint: {body: raw}").fingerprint.body, BodyFingerprint::raw);
  EXPECT_EQ(route_of("fingerprint: {body: none}").fingerprint.body, BodyFingerprint::none);
  EXPECT_EQ(route_of("docs_url: /docs/keys").docs_url, "/docs/keys");
}

TEST(ConfigRoute, RefusesBadValues) {
  expect_refused({
      {"name: ''", "name: '' must be 1 to 128 printable"},
      {"methods: POST", "methods: must be a list"},
      {"methods: [post]", "methods[0]: 'post' is not a method in upper case"},
      {"methods: ['P T']", "is not a method"},
      {"methods: [POST, GET]", "methods[1]: 'GET' always ignores keys"},
      {"methods: [HEAD]", "'HEAD' always ignores keys"},
      {"methods: [OPTIONS]", "'OPTIONS' always ignores keys"},
      {"methods: [TRACE]", "'TRACE' always ignores keys"},
      {"methods: [CONNECT]", "'CONNECT' always ignores keys"},
      {"connect_timeout: 0s", "must be between 1ms and"},
      {"upstream_timeout: 0", "must be between 1ms and"},
      {"max_execution: 0s", "must be between 1s and"},
      {"wait_timeout: 301s", "must be between 0s and 5m"},
      {"lease: 999ms", "must be between 1s and"},
      {"ttl: 0s", "ttl: '0s' is out of range; it must be between 1s and 45d"},
      {"ttl: 46d", "must be between 1s and 45d"},
      {"ttl: never", "ttl: 'never' is not a duration"},
      {"hold_for: 0s", "must be between 1s and"},
      {"hold_for: forever", "hold_for: 'forever' is not a duration"},
      {"ttl_from: start", "use completion, creation"},
      {"scope: global", "use operation, path, tenant"},
      {"in_progress: block", "use conflict, wait, accept"},
      {"unknown: drop", "unknown: 'drop' is not allowed here; use hold, retry, fail"},
      {"on_retry: drop", "use keep, forget"},
      {"on_version_change: old", "use gone, new"},
      {"store_down: ignore", "use refuse, pass"},
      {"errors: json", "use problem, flat, nested"},
      {"mode: off", "use enforce"},
      {"completes: nobody", "use gateway"},
      {"response_version: ''", "must be 1 to 64 printable"},
      {"max_request_body: 2GiB", "must be between 0 and 1GiB"},
      {"statuses: {mismatch: 399}", "statuses.mismatch: '399' is out of range"},
      {"statuses: {in_progress: 600}", "must be between 400 and 599"},
      {"replayed_header: 'a b'", "is not a header name"},
      {"replay_headers: {allow: [Clear-Site-Data]}", "is never stored"},
      {"replay_headers: {deny: ['a:']}", "replay_headers.deny[0]: 'a:' is not a header name"},
      {"retry_after: {unknown: 0s}", "retry_after.unknown: '0s'"},
      {"cors: {origins: [app.example]}", "'app.example' is not an origin"},
      {"cors: {origins: ['https://app.example/']}", "is not an origin"},
      {"cors: {origins: ['https://App.example']}", "is not an origin"},
      {"cors: {origins: ['*'], credentials: true}", "needs the origins by name"},
      {"docs_url: example.com", "docs_url: 'example.com' is not a link"},
      {"docs_url: 'https://a/>;x'", "is not a link"},
  });
}

TEST(ConfigRoute, AWrongTypeIsReportedOnceAndReadNoFurther) {
  expect_refused({
      {"name: []", "name: must be a single value, not a list"},
      {"methods: [[]]", "methods[0]: must be a single value"},
      {"profile: []", "profile: must be a single value"},
      {"key: {header: []}", "key.header: must be a single value"},
      {"key: {pointer: []}", "key.pointer: must be a single value"},
      {"fingerprint: {include: [[]]}", "fingerprint.include[0]: must be a single value"},
      {"outcomes: []", "outcomes: must be a mapping"},
      {"outcomes: {final: [[]]}", "outcomes.final[0]: must be a single value"},
      {"hold_for: []", "hold_for: must be a single value"},
      {"docs_url: []", "docs_url: must be a single value"},
      {"statuses: {mismatch: []}", "statuses.mismatch: must be a single value"},
  });
}

TEST(ConfigRoute, RefusesBadKeyRules) {
  expect_refused({
      {"key: Idempotency-Key", "key: must be a mapping"},
      {"key: {required: yes}", "key.required: 'yes' is not allowed here; use true, false"},
      {"key: {header: 'X Key'}", "key.header: 'X Key' is not a header name"},
      {"key: {aliases: ['']}", "key.aliases[0]: '' is not a header name"},
      {"key: {from: cookie}", "use header, pointer, fingerprint"},
      {"key: {min_length: 0}", "must be between 1 and 1024"},
      {"key: {max_length: 1025}", "must be between 1 and 1024"},
      {"key: {min_length: 9, max_length: 8}",
       "key.min_length: is 9, more than max_length, which is 8"},
      {"key: {min_length: 256}", "key.min_length: is 256, more than max_length, which is 255"},
      {"key: {format: guid}", "use any, uuid, strong"},
      {"key: {from: pointer}", "key.pointer: required with from: pointer"},
      {"key: {from: pointer, pointer: id}", "key.pointer: 'id' is not a JSON Pointer"},
  });
}

TEST(ConfigRoute, RefusesBadFingerprints) {
  expect_refused({
      {"fingerprint: {body: xml}", "use auto, json, form, raw, none"},
      {"fingerprint: {include: [a]}", "fingerprint.include[0]: 'a' is not a JSON Pointer"},
      {"fingerprint: {exclude: [/ok, /a~2]}", "fingerprint.exclude[1]: '/a~2' is not a JSON"},
      {"fingerprint: {headers: ['x y']}", "is not a header name"},
      {"fingerprint: {headers: [Authorization]}", "'Authorization' is never part of a finger"},
      {"fingerprint: {headers: [proxy-authorization]}", "is never part of a fingerprint"},
      {"fingerprint: {headers: [Date]}", "is never part of a fingerprint"},
      {"fingerprint: {headers: [traceparent]}", "is never part of a fingerprint"},
      {"fingerprint: {headers: [tracestate]}", "is never part of a fingerprint"},
      {"fingerprint: {query: 1}", "use true, false"},
  });
}

TEST(ConfigRoute, ReadsEveryBodyRecipe) {
  const auto body = [](const std::string& name) {
    return config_of(with_route("fingerprint: {body: " + name + "}")).routes[0].fingerprint.body;
  };
  EXPECT_EQ(body("auto"), BodyFingerprint::automatic);
  EXPECT_EQ(body("form"), BodyFingerprint::form);
  EXPECT_EQ(body("multipart"), BodyFingerprint::multipart);
  EXPECT_EQ(body("digest"), BodyFingerprint::digest);
}

TEST(ConfigRoute, BoundsWhatIsSpilled) {
  EXPECT_EQ(config_of(with_route("max_stored_body: 1")).routes[0].max_spilled_body, 64u << 20);
  EXPECT_EQ(config_of(with_route("max_spilled_body: 0")).routes[0].max_spilled_body, 0u);
  EXPECT_THAT(errors_of(with_route("max_spilled_body: 2GiB")),
              ElementsAre(HasSubstr("max_spilled_body")));
}

TEST(ConfigRoute, ReadsWhoCompletes) {
  const std::string store = "store: {kind: postgres, url: 'postgresql://db/semel'}\n";
  const Config config = config_of(store + with_route("completes: executor"));
  EXPECT_EQ(config.routes[0].completes, Completes::executor);
  EXPECT_EQ(config_of(with_route("ttl: 1h")).routes[0].completes, Completes::gateway);
  EXPECT_THAT(
      errors_of(with_route("completes: executor")),
      ElementsAre(HasSubstr("routes[0].completes: executor needs store: {kind: postgres}")));
  EXPECT_THAT(errors_of(store + with_route("completes: executor, unknown: fail")),
              ElementsAre(HasSubstr("routes[0].unknown: fail would make a failure final")));
  EXPECT_THAT(
      warnings_of("encryption: {keys_file: k}\n" + store + with_route("completes: executor")),
      ElementsAre(HasSubstr("encryption.keys_file does not encrypt what")));
  EXPECT_THAT(errors_of(store + with_route("completes: executor, unknown: retry, webhook: "
                                           "{provider: github, secrets: [s], mode: queue}")),
              ElementsAre(HasSubstr("is not allowed with webhook mode: queue")));
}

TEST(ConfigRoute, ReadsWhatDuplicatesInFlightGet) {
  const auto read = [](const std::string& choice) {
    return config_of(with_route("in_progress: " + choice)).routes.at(0).in_progress;
  };
  EXPECT_EQ(read("conflict"), InProgress::conflict);
  EXPECT_EQ(read("wait"), InProgress::wait);
  EXPECT_EQ(read("accept"), InProgress::accept);
}

TEST(ConfigRoute, ReadsUpstreams) {
  const auto upstream = [](const std::string& url) {
    const Config config = config_of("defaults: {upstream: '" + url +
                                    "'}\ntenant: {from: none}\nroutes: [{path: /*}]");
    return config.routes.at(0).upstreams.at(0);
  };
  EXPECT_EQ(upstream("http://10.0.0.1:3000").address, (HostPort{"10.0.0.1", 3000}));
  EXPECT_EQ(upstream("HTTP://api-1.internal_net").address, (HostPort{"api-1.internal_net", 80}));
  EXPECT_EQ(upstream("http://[fd00::1]:81/").address, (HostPort{"fd00::1", 81}));
  EXPECT_EQ(upstream("http://a/").base_path, "");
  EXPECT_FALSE(upstream("http://a/").tls);
  EXPECT_TRUE(upstream("https://a/").tls);
  EXPECT_EQ(upstream("https://a/").address, (HostPort{"a", 443}));
  EXPECT_EQ(upstream("https://a:444/b").address, (HostPort{"a", 444}));
  EXPECT_EQ(upstream("http://a/b/c/").base_path, "/b/c");
}

TEST(ConfigRoute, RefusesBadUpstreams) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"https://", "has no valid host"},
      {"a:3000", "is not an upstream; write http://host:port"},
      {"ftp://a", "is not an upstream"},
      {"http://", "has no valid host"},
      {"http://:80", "has no valid host"},
      {"http://-a", "has no valid host"},
      {"http://a..b", "has no valid host"},
      {"http://10.0.0.300", "has no valid host"},
      {"http://[::1", "has no valid host"},
      {"http://[name]", "has no valid host"},
      {"http://[::1]x", "has no valid host"},
      {"http://a b", "has no valid host"},
      {"http://a:0", "must be between 1 and 65535"},
      {"http://a:65536", "must be between 1 and 65535"},
      {"http://a:x", "must be between 1 and 65535"},
      {"http://a?b", "must not have a query, a fragment or a user name"},
      {"http://a/#b", "must not have a query, a fragment or a user name"},
      {"http://user@a", "must not have a query, a fragment or a user name"},
      {"http://user:hunter2@a", "'http://user:***@a' must not have"},
      {"http://a/b c", "must be escaped as %XX"},
  };
  for (const auto& [url, expected] : cases) {
    EXPECT_THAT(errors_of("tenant: {from: none}\nroutes: [{path: /*, upstream: '" + url + "'}]"),
                ElementsAre(AllOf(HasSubstr("routes[0].upstream: "), HasSubstr(expected))))
        << url;
  }
  EXPECT_THAT(errors_of("tenant: {from: none}\nroutes: [{path: /*, upstream: []}]"),
              ElementsAre(HasSubstr("routes[0].upstream: must name at least one upstream")));
}

TEST(ConfigRoute, NeedsRoutesWithAPathAndAnUpstream) {
  EXPECT_THAT(errors_of("tenant: {from: none}"),
              ElementsAre("semel.yaml: routes: required; a list of routes"));
  EXPECT_THAT(errors_of("tenant: {from: none}\nroutes: []"),
              ElementsAre("semel.yaml:2: routes: must have at least one route"));
  EXPECT_THAT(errors_of("tenant: {from: none}\nroutes: [/*]"),
              ElementsAre(HasSubstr("routes[0]: must be a mapping")));
  EXPECT_THAT(errors_of("tenant: {from: none}\nroutes:\n- name: a"),
              ElementsAre(HasSubstr("semel.yaml:3: routes[0].path: required"),
                          HasSubstr("semel.yaml:3: routes[0].upstream: required")));
}

TEST(ConfigRoute, RefusesBadPaths) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"v1", "must begin with '/'"},
      {"/a*", "may have '*' only at its end"},
      {"/*/a", "may have '*' only at its end"},
      {"/a/**", "may have '*' only at its end"},
      {"/a/x{id}", "may have {name} only as a whole segment"},
      {"/a/{}", "may have {name} only as a whole segment"},
      {"/a/{1}", "may have {name} only as a whole segment"},
      {"/a/{a}{b}", "may have {name} only as a whole segment"},
      {"/a/{id", "may have {name} only as a whole segment"},
      {"/a?b=c", "must be a plain path"},
      {"/a b", "must be a plain path"},
      {"/.semel/policy", "is reserved for Semel itself"},
      {"/.semel", "is reserved for Semel itself"},
      {"/a//b", "never matches; write '/a/b'"},
      {"/a/../b", "has a dot segment"},
      {"/%61", "never matches; write '/a'"},
      {"/%zz", "has a bad % escape"},
  };
  for (const auto& [path, expected] : cases) {
    EXPECT_THAT(errors_of(with_paths({path})),
                ElementsAre(AllOf(HasSubstr("routes[0].path: "), HasSubstr(expected))))
        << path;
  }
  EXPECT_THAT(errors_of(with_paths({"", "a", "a", "/b"})),
              ElementsAre(HasSubstr("routes[0].path: '' must be 1 to 1024"),
                          HasSubstr("routes[1].path: 'a' must begin"),
                          HasSubstr("routes[2].path: 'a' must begin")));
  config_of(with_paths({"/a/{id}/b_2/{x}/*", "/a/", "/a", "/", "/%2F"}));
}

TEST(ConfigRoute, RefusesTheSamePathTwice) {
  EXPECT_THAT(errors_of(with_paths({"/a", "/b", "/a"})),
              ElementsAre("semel.yaml:5: routes[2].path: never matches: the first match wins, and "
                          "'/a' on line 3 comes first"));
  EXPECT_THAT(errors_of(with_paths({"/a/{x}", "/a/{y}"})),
              ElementsAre(HasSubstr("routes[1].path: never matches")));
}

TEST(ConfigRoute, WarnsOfARouteBehindAWiderOne) {
  const std::vector<std::pair<std::string, std::string>> shadowed = {{"/*", "/a"},
                                                                     {"/*", "/"},
                                                                     {"/a/*", "/a/b"},
                                                                     {"/a/*", "/a/"},
                                                                     {"/a/*", "/a/{id}/b/*"},
                                                                     {"/a/{id}", "/a/b"},
                                                                     {"/{x}/*", "/a/b"}};
  for (const auto& [earlier, later] : shadowed) {
    EXPECT_THAT(warnings_of(with_paths({earlier, later})),
                ElementsAre(HasSubstr("semel.yaml:4: routes[1].path: never matches")))
        << earlier << " " << later;
  }
  const std::vector<std::pair<std::string, std::string>> apart = {
      {"/a/*", "/a"},      {"/a/b", "/a/*"},      {"/a", "/*"},      {"/a/{id}", "/a/"},
      {"/a/{id}", "/b/c"}, {"/a/{id}", "/a/b/c"}, {"/ab/*", "/abc"}, {"/a/b", "/a/{id}"}};
  for (const auto& [earlier, later] : apart) {
    EXPECT_THAT(warnings_of(with_paths({earlier, later})), IsEmpty()) << earlier << " " << later;
  }
}

TEST(ConfigRoute, TwoKeyedRoutesCannotShareAName) {
  const std::string first =
      "tenant: {from: none}\nroutes:\n- {name: x, path: /a, upstream: http://u}\n";
  EXPECT_THAT(errors_of(first + "- {name: x, path: /b, upstream: http://u}\n"),
              ElementsAre(HasSubstr("semel.yaml:4: routes[1].name: 'x' is also the operation on "
                                    "line 3; their keys would be mixed")));
  config_of(first + "- {name: x, path: /b, upstream: http://u, methods: []}\n");
}

TEST(ConfigRoute, RefusesBadOutcomes) {
  expect_refused({
      {"outcomes: lenient", "outcomes: 'lenient' is not allowed here; use standard, cautious"},
      {"outcomes: {finale: [200]}", "outcomes.finale: unknown key; did you mean 'final'?"},
      {"outcomes: {final: 200}", "outcomes.final: must be a list"},
      {"outcomes: {final: [600]}", "outcomes.final[0]: '600' is neither a status"},
      {"outcomes: {final: [20x]}", "outcomes.final[0]: '20x' is neither a status"},
      {"outcomes: {final: [500], retry: [503, 500]}",
       "outcomes.retry[1]: '500' is listed as final and as retry"},
      {"outcomes: {final: [5xx], retry: [5XX]}", "'5XX' is listed as final and as retry"},
  });
}

TEST(ConfigRoute, KeysFromTheFingerprintNeedAShortTtl) {
  const std::string expected = "key.from: fingerprint makes identical requests one operation";
  expect_refused(
      {{"key: {from: fingerprint}", expected}, {"key: {from: fingerprint}, ttl: 601s", expected}});
  EXPECT_EQ(route_of("key: {from: fingerprint}, ttl: 10m").key.from, KeySource::fingerprint);
  EXPECT_EQ(route_over("ttl: 1m", "key: {from: fingerprint}").operation.ttl, minutes(1));
}

TEST(ConfigRoute, WarnsOfWhatCannotWork) {
  EXPECT_THAT(
      warnings_of(with_route("max_execution: 29s")),
      ElementsAre(HasSubstr("routes[0].max_execution: is 29s, shorter than upstream_timeout, "
                            "which is 30s")));
  EXPECT_THAT(warnings_of(with_route("max_execution: 30s")), IsEmpty());
  EXPECT_THAT(warnings_of(with_route("key: {pointer: /id}")),
              ElementsAre(HasSubstr("routes[0].key.pointer: has no effect without from: pointer")));
}

TEST(ConfigRoute, BoundsTheNumberOfRoutes) {
  std::vector<std::string> paths;
  for (int i = 0; i < 2001; ++i) paths.push_back("/" + std::to_string(i));
  EXPECT_THAT(errors_of(with_paths(paths)),
              ElementsAre(HasSubstr("routes: has more than 2000 entries")));
  paths.pop_back();
  EXPECT_EQ(config_of(with_paths(paths)).routes.size(), 2000u);
}

}  // namespace
}  // namespace semel::config::test
