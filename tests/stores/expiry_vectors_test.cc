// The table of when records expire, against every store: in Redis a script keeps the index.
#include "stores/redis/layout.h"
#include "stores/redis/scripts.h"
#include "stores/redis_harness.h"
#include "stores/suite.h"
#include "support/vectors.h"

namespace semel::stores {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

// Nothing removes due records during the test: see kThen.
Record record_of(const json::value& table, const json::value& row, const RecordId& id) {
  Record record = claim_of(id);
  const Record times = support::expiring_record(table.as_object(), row.as_object(), kThen);
  record.state = times.state;
  record.token = times.token;
  record.lease_until = times.lease_until;
  record.expires_at = times.expires_at;
  record.tombstone_until = times.tombstone_until;
  record.hold_until = times.hold_until;
  return record;
}

std::string text_of_reply(const resp::RespReply& reply) {
  return reply.is_nil() ? "never" : std::string(reply.text());
}

}  // namespace

TEST_P(StoreSuite, SweepsWhatTheTableSaysIsDue) {
  const json::value table = support::read_vectors("expiry.json");
  std::uint64_t number = 0;
  for (const json::value& row : table.at("rows").as_array()) {
    SCOPED_TRACE(support::text_of(row.at("name")));
    const RecordId id = id_of(++number);
    // From another state: an index that is only right for new records would be seen.
    const Version version = apply(id, 0, completion_of(id, kThen - 1h));
    const Version now = apply(id, version, record_of(table, row, id));
    const bool is_due = support::time_in(row.at("due"), kThen) <= kThen;
    EXPECT_EQ(sweep(kThen), is_due ? std::vector{id} : std::vector<RecordId>{});
    apply(id, now, std::nullopt);
    EXPECT_TRUE(sweep(kThen).empty());
  }
}

TEST(RedisVectors, TheScriptsKeepWhatTheTableSays) {
  const RedisConfig config = redis_config(RedisSetup::single);
  empty_redis(config);
  const RedisAddress server = parse_redis_url(config.url)->address;
  const auto store = open_redis_or_throw(config);
  const json::value table = support::read_vectors("expiry.json");
  std::uint64_t number = 0;
  for (const json::value& row : table.at("rows").as_array()) {
    SCOPED_TRACE(support::text_of(row.at("name")));
    const RecordId id = id_of(++number);
    const redis::Bucket bucket = redis::bucket_of(id);
    const Record record = record_of(table, row, id);
    ASSERT_TRUE(std::holds_alternative<swap::Applied>(run(store->swap(id, 0, shared(record)))));
    const std::string due =
        text_of_reply(in_redis(server, {"ZSCORE", redis::due_key(bucket), redis::raw(id)}));
    const Time wanted = support::time_in(row.at("due"), kThen);
    EXPECT_EQ(due, wanted == kNever ? "never" : std::to_string(wanted.time_since_epoch().count()));
    const bool is_unknown =
        !in_redis(server, {"ZSCORE", redis::unknown_key(bucket), redis::raw(id)}).is_nil();
    EXPECT_EQ(is_unknown, record.state == RecordState::unknown);
    // Only for the end of a claim that runs can somebody wait.
    const auto noted =
        in_redis(server, {"EVAL", redis::await_script().source, "2", redis::record_key(id),
                          redis::waiting_key(id), redis::raw(record.token), "1000"});
    EXPECT_EQ(noted.number(), row.at("running").as_bool() ? 1 : 0);
  }
}

}  // namespace semel::stores
