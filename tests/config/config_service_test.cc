#include "config_support.h"

namespace semel::config {
namespace {

using namespace config::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kClient = "{name: w, token_env: W, tenants: [a], operations: [jobs]}";

std::string with_service(std::string_view members) {
  return with_top("service: {" + std::string(members) + "}");
}

std::string with_client(std::string_view client) {
  return with_service("operations: {jobs: {}}, clients: [" + std::string(client) + "]");
}

TEST(ConfigService, IsNotThereUnlessConfigured) {
  EXPECT_FALSE(config_of(with_top("")).service);
}

TEST(ConfigService, HasDefaults) {
  const Config config = config_of(with_client(kClient));
  ASSERT_TRUE(config.service);
  EXPECT_EQ(config.service->listen, (HostPort{"127.0.0.1", 8090}));
  EXPECT_EQ(config.service->max_body, 1024u * 1024);
  ASSERT_EQ(config.service->operations.size(), 1u);
  EXPECT_EQ(config.service->operations[0].operation.unknown, UnknownPolicy::hold);
  ASSERT_EQ(config.service->clients.size(), 1u);
  EXPECT_EQ(config.service->clients[0].tenants.names, std::vector<std::string>{"a"});
}

TEST(ConfigService, IsReadWhole) {
  const Config config = config_of(with_service(
      "listen: '127.0.0.1:1', max_body: 64KiB, operations: {jobs: {lease: 5s, ttl: 2h, tombstone: "
      "1h, hold_for: 3h, unknown: retry, limits: {new_keys_per_second: 3}}}, clients: [{name: w, "
      "token_file: /f, tenants: '*', operations: '*'}]"));
  const ServiceOperation& jobs = config.service->operations.at(0);
  EXPECT_EQ(jobs.name, "jobs");
  EXPECT_EQ(jobs.operation.lease, std::chrono::seconds(5));
  EXPECT_EQ(jobs.operation.ttl, std::chrono::hours(2));
  EXPECT_EQ(jobs.operation.tombstone, std::chrono::hours(1));
  EXPECT_EQ(jobs.operation.hold_for, std::chrono::hours(3));
  EXPECT_EQ(jobs.operation.unknown, UnknownPolicy::retry);
  EXPECT_EQ(jobs.limits.new_keys_per_second, 3u);
  const ServiceClient& client = config.service->clients.at(0);
  EXPECT_EQ(client.token_file, "/f");
  EXPECT_TRUE(client.tenants.all && client.operations.all);
}

TEST(ConfigService, NeedsNoRoutes) {
  EXPECT_THAT(
      errors_of("service: {operations: {jobs: {}}, clients: [" + std::string(kClient) + "]}\n"),
      IsEmpty());
}

TEST(ConfigService, ReportsWhatIsMissing) {
  EXPECT_THAT(errors_of(with_service("operations: {jobs: {}}")),
              ElementsAre(HasSubstr("service.clients: required; at least one client")));
  EXPECT_THAT(errors_of(with_client("{name: w, token_env: W, operations: '*'}")),
              ElementsAre(HasSubstr("service.clients[0].tenants: required")));
  EXPECT_THAT(errors_of(with_client("{name: w, tenants: [a], operations: '*'}")),
              ElementsAre(HasSubstr("needs one of token_file and token_env")));
  EXPECT_THAT(
      errors_of(with_client("{name: w, token_file: f, token_env: W, tenants: [a], operations: "
                            "'*'}")),
      ElementsAre(HasSubstr("needs one of token_file and token_env")));
}

TEST(ConfigService, RefusesOperationsThatNobodyConfigured) {
  EXPECT_THAT(errors_of(with_client("{name: w, token_env: W, tenants: [a], operations: [jbos]}")),
              ElementsAre(HasSubstr("'jbos' is not configured; add it to service.operations, or "
                                    "name a route")));
  const std::string with_a_route =
      "tenant: {from: none}\nroutes: [{name: orders, path: /*, upstream: http://up}]\nservice: "
      "{clients: [{name: w, token_env: W, tenants: [a], operations: [orders]}]}\n";
  EXPECT_THAT(errors_of(with_a_route), IsEmpty());
}

TEST(ConfigService, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(errors_of(with_client(std::string(kClient) + ", " + std::string(kClient))),
              ElementsAre(HasSubstr("is the name of an earlier client")));
  EXPECT_THAT(errors_of(with_client("{name: 'a b', token_env: W, tenants: [a], operations: '*'}")),
              ElementsAre(HasSubstr("must be 1 to 64 letters")));
  EXPECT_THAT(errors_of(with_client("{name: w, token_env: W, tenants: [], operations: '*'}")),
              ElementsAre(HasSubstr("is empty; list names, or write \"*\" for all")));
  EXPECT_THAT(
      errors_of(with_service("listen: '127.0.0.1:9090', operations: {jobs: {}}, clients: [" +
                             std::string(kClient) + "]")),
      ElementsAre(HasSubstr("port 9090 of 127.0.0.1 is already used")));
  EXPECT_THAT(errors_of(with_service("operations: {jobs: {unknown: probe}}, clients: [" +
                                     std::string(kClient) + "]")),
              ElementsAre(HasSubstr("service.operations.jobs.unknown")));
  EXPECT_THAT(errors_of(with_service("operations: {jobs: {limits: {in_flight: 3}}}, clients: [" +
                                     std::string(kClient) + "]")),
              ElementsAre(HasSubstr("limits.in_flight: has no effect here")));
}

TEST(ConfigService, WarnsOfAnOpenAddress) {
  EXPECT_THAT(warnings_of(with_service("listen: '0.0.0.0:8090', operations: {jobs: {}}, clients: "
                                       "[" +
                                       std::string(kClient) + "]")),
              ElementsAre(HasSubstr("service.listen: can be reached from other machines")));
}

}  // namespace
}  // namespace semel::config
