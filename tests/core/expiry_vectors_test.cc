// The table of when records expire, against due_at() and transition().
// tests/e2e/postgres/test_vectors.py runs it against SQL,
// tests/stores/expiry_vectors_test.cc against every store.
#include <gtest/gtest.h>

#include "base/overloaded.h"
#include "core/transition.h"
#include "support/vectors.h"

namespace semel::core {
namespace {

namespace json = boost::json;
using support::shown;
using support::text_of;

constexpr Time kNow{std::chrono::seconds(1'700'000'000)};
const Token kHolder = [] {
  Token token;
  token.bytes.fill('a');
  return token;
}();

Record record_of(const json::object& table, const json::object& row) {
  return support::expiring_record(table, row, kNow);
}

std::string claimed(const Record& record) {
  event::Claim claim;
  claim.operation.response_version = record.response_version;
  const Decision decision = transition(&record, claim, kNow);
  return std::visit(base::Overloaded{[](const verdict::Execute&) { return "execute"; },
                                     [](const verdict::Replay&) { return "replay"; },
                                     [](const verdict::Busy&) { return "busy"; },
                                     [](const verdict::OutcomeUnknown&) { return "unknown"; },
                                     [](const verdict::Expired&) { return "expired"; },
                                     [](const auto&) { return "none of the table's"; }},
                    decision.verdict);
}

std::string swept(const Record& record, Duration lag) {
  event::Sweep sweep;
  sweep.queued_lease = std::chrono::seconds(20);
  sweep.lag = lag;
  const Decision decision = transition(&record, sweep, kNow);
  if (std::holds_alternative<Keep>(decision.change)) return "nothing";
  if (std::holds_alternative<Erase>(decision.change)) return "removed";
  const Record& next = *std::get<Put>(decision.change).next;
  if (next.state == RecordState::tombstone && record.state != RecordState::tombstone) {
    return "tombstone until " + shown(next.tombstone_until, kNow);
  }
  if (next.state == record.state && due_at(next) == after(due_at(record), lag)) return "put off";
  return std::string(to_string(next.state));
}

const json::array& rows_of(const json::value& table, const char* section, std::size_t at_least) {
  const json::array& rows = table.at(section).as_array();
  EXPECT_GE(rows.size(), at_least);
  return rows;
}

TEST(ExpiryVectors, EveryRowHoldsInCpp) {
  const json::value table = support::read_vectors("expiry.json");
  for (const json::value& row : rows_of(table, "rows", 25)) {
    SCOPED_TRACE(text_of(row.at("name")));
    const Record record = record_of(table.as_object(), row.as_object());
    EXPECT_EQ(shown(due_at(record), kNow), text_of(row.at("due")));
    EXPECT_EQ(claimed(record), text_of(row.at("claim")));
    EXPECT_EQ(swept(record, Duration{0}), text_of(row.at("sweep")));
  }
}

TEST(ExpiryVectors, EveryRowHoldsWhereTheClockWasSetForward) {
  const json::value table = support::read_vectors("expiry.json");
  for (const json::value& row : rows_of(table, "set_forward", 10)) {
    SCOPED_TRACE(text_of(row.at("name")));
    const Record record = record_of(table.as_object(), row.as_object());
    EXPECT_EQ(swept(record, support::duration_in(row.at("lag"))), text_of(row.at("sweep")));
  }
}

Decision ended(const Record& record, std::string_view how) {
  if (how == "lose") return transition(&record, event::Claim{}, kNow);
  event::Finish finish{kHolder, {OutcomeKind::final, {201, {}, "done"}, "done"}};
  if (how == "release") finish.outcome = {OutcomeKind::retry, {}, "try later"};
  if (how == "auth failure") finish.outcome = {OutcomeKind::retry, {401, {}, ""}, "status 401"};
  return transition(&record, finish, kNow);
}

void expect_times(const json::value& table, const json::value& row, std::string_view how) {
  SCOPED_TRACE(text_of(row.at("name")));
  const Record record = record_of(table.as_object(), row.as_object());
  const Decision decision = ended(record, how);
  ASSERT_TRUE(std::holds_alternative<Put>(decision.change));
  const Record& next = *std::get<Put>(decision.change).next;
  const json::value& then = row.at("then");
  EXPECT_EQ(shown(next.expires_at, kNow), text_of(then.at("expires")));
  EXPECT_EQ(shown(next.tombstone_until, kNow), text_of(then.at("tombstone_until")));
  EXPECT_EQ(shown(next.hold_until, kNow), text_of(then.at("hold_until")));
  EXPECT_EQ(shown(due_at(next), kNow), text_of(then.at("due")));
}

TEST(ExpiryVectors, ARecordThatEndsGetsItsTimes) {
  const json::value table = support::read_vectors("expiry.json");
  for (const json::value& row : rows_of(table, "ends", 15)) {
    expect_times(table, row, row.at("event").as_string());
  }
}

TEST(ExpiryVectors, AuthFailuresAreForgottenSoon) {
  const json::value table = support::read_vectors("expiry.json");
  for (const json::value& row : rows_of(table, "auth_failures", 3)) {
    expect_times(table, row, "auth failure");
  }
}

}  // namespace
}  // namespace semel::core
