// The table of rules that C++ and SQL share, against transition().
// tests/e2e/postgres/test_vectors.py runs the same table against the SQL functions: neither can
// drift from the other unnoticed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <map>
#include <sstream>

#include "base/sha256.h"
#include "core/transition.h"

namespace semel::core {
namespace {

namespace json = boost::json;
using Fields = std::map<std::string, std::string>;

constexpr Time kNow{std::chrono::seconds(1'700'000'000)};

json::value read_table() {
  std::ifstream file(SEMEL_VECTORS "/transitions.json");
  std::stringstream text;
  text << file.rdbuf();
  return json::parse(text.str());
}

std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
}

// `fields` with what `object` says otherwise. A name that is not among them is a mistake.
Fields with(Fields fields, const json::object& object) {
  for (const auto& [name, value] : object) fields.at(std::string(name)) = text_of(value);
  return fields;
}

Fields fields_of(const json::object& object) {
  Fields fields;
  for (const auto& [name, value] : object) fields[std::string(name)] = text_of(value);
  return fields;
}

Token token_of(const std::string& letter) {
  Token token;
  token.bytes.fill(static_cast<std::uint8_t>(letter.at(0)));
  return token;
}

Fingerprint print_of(const std::string& payload) {
  return {base::Sha256().update(payload).finish(), {}};
}

Duration duration_of(const std::string& text) {
  return text == "never" ? Duration::max() : Duration(std::stoll(text));
}
std::string text_of(Duration duration) {
  return duration == Duration::max() ? "never" : std::to_string(duration.count());
}
Time time_of(const std::string& text) {
  return text == "never" ? kNever : kNow + duration_of(text);
}
std::string text_of(Time time) {
  return time == kNever ? "never" : std::to_string((time - kNow).count());
}

// status|headers|body
Answer answer_of(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t first = text.find('|');
  const std::size_t second = text.find('|', first + 1);
  Answer answer;
  answer.status = std::stoi(text.substr(0, first));
  const std::string header = text.substr(first + 1, second - first - 1);
  if (!header.empty()) {
    const std::size_t colon = header.find(": ");
    answer.headers.push_back({header.substr(0, colon), header.substr(colon + 2)});
  }
  answer.body = text.substr(second + 1);
  return answer;
}
std::string text_of(const Answer& answer) {
  if (answer.status == 0) return "";
  std::string headers;
  for (const Header& header : answer.headers) headers += header.name + ": " + header.value;
  return fmt::format("{}|{}|{}", answer.status, headers, answer.body);
}

const std::map<std::string, RecordState> kStates = {
    {"queued", RecordState::queued},       {"in_progress", RecordState::in_progress},
    {"completed", RecordState::completed}, {"released", RecordState::released},
    {"unknown", RecordState::unknown},     {"tombstone", RecordState::tombstone}};
const std::map<std::string, RecordResult> kResults = {{"none", RecordResult::none},
                                                      {"succeeded", RecordResult::succeeded},
                                                      {"failed", RecordResult::failed}};
const std::map<std::string, UnknownPolicy> kPolicies = {
    {"hold", UnknownPolicy::hold}, {"retry", UnknownPolicy::retry}, {"fail", UnknownPolicy::fail}};

// The payload is not to be read out of its digest: rows have one of these.
constexpr const char* kPayloads[] = {"pay 10", "pay 11"};

Record record_of(const Fields& fields) {
  Record record;
  record.state = kStates.at(fields.at("state"));
  record.attempt = static_cast<std::uint32_t>(std::stoul(fields.at("attempt")));
  record.token = token_of(fields.at("token"));
  record.fingerprint = print_of(fields.at("payload"));
  record.lease_until = time_of(fields.at("lease"));
  record.created_at = time_of(fields.at("created"));
  record.updated_at = time_of(fields.at("updated"));
  record.expires_at = time_of(fields.at("expires"));
  record.tombstone_until = time_of(fields.at("tombstone_until"));
  record.hold_until = time_of(fields.at("hold_until"));
  record.ttl = duration_of(fields.at("ttl"));
  record.tombstone = duration_of(fields.at("tombstone"));
  record.hold_for = duration_of(fields.at("hold_for"));
  record.ttl_from_creation = fields.at("from_creation") == "true";
  record.only_auth_failures = fields.at("only_auth") == "true";
  record.response_version = fields.at("response_version");
  record.result = kResults.at(fields.at("result"));
  record.answer = answer_of(fields.at("answer"));
  return record;
}

Fields fields_of(const Record& record) {
  Fields fields;
  fields["state"] = to_string(record.state);
  fields["attempt"] = std::to_string(record.attempt);
  fields["token"] = std::string(1, static_cast<char>(record.token.bytes[0]));
  for (const char* payload : kPayloads) {
    if (print_of(payload) == record.fingerprint) fields["payload"] = payload;
  }
  fields["lease"] = text_of(record.lease_until);
  fields["created"] = text_of(record.created_at);
  fields["updated"] = text_of(record.updated_at);
  fields["expires"] = text_of(record.expires_at);
  fields["tombstone_until"] = text_of(record.tombstone_until);
  fields["hold_until"] = text_of(record.hold_until);
  fields["ttl"] = text_of(record.ttl);
  fields["tombstone"] = text_of(record.tombstone);
  fields["hold_for"] = text_of(record.hold_for);
  fields["from_creation"] = record.ttl_from_creation ? "true" : "false";
  fields["only_auth"] = record.only_auth_failures ? "true" : "false";
  fields["response_version"] = record.response_version;
  for (const auto& [name, result] : kResults) {
    if (result == record.result) fields["result"] = name;
  }
  fields["answer"] = text_of(record.answer);
  fields["note"] = record.history.empty() ? "" : record.history.back().note;
  return fields;
}

event::Claim claim_of(const Fields& said) {
  event::Claim claim;
  claim.scope = {"default", "tenant", "operation"};
  claim.id = make_id(claim.scope, "k");
  claim.shown_key = "k";
  claim.fingerprint = claim.compared = print_of(said.at("payload"));
  claim.token = token_of(said.at("token"));
  claim.operation.unknown = kPolicies.at(said.at("unknown"));
  claim.operation.lease = duration_of(said.at("lease"));
  claim.operation.ttl = duration_of(said.at("ttl"));
  claim.operation.tombstone = duration_of(said.at("tombstone"));
  claim.operation.response_version = said.at("response_version");
  return claim;
}

Event event_of(const std::string& kind, const Fields& said) {
  if (kind == "complete") {
    return event::Finish{token_of(said.at("token")),
                         {OutcomeKind::final, answer_of(said.at("answer")), "completed by semel"}};
  }
  return event::Finish{token_of(said.at("token")), {OutcomeKind::retry, {}, said.at("reason")}};
}

struct Told {
  std::string operator()(const verdict::Execute&) const { return "execute"; }
  std::string operator()(const verdict::Replay&) const { return "replay"; }
  std::string operator()(const verdict::Mismatch&) const { return "mismatch"; }
  std::string operator()(const verdict::Busy&) const { return "busy"; }
  std::string operator()(const verdict::OutcomeUnknown&) const { return "unknown"; }
  std::string operator()(const verdict::Expired&) const { return "expired"; }
  std::string operator()(const verdict::VersionChanged&) const { return "version-changed"; }
  std::string operator()(const verdict::Done&) const { return "done"; }
  std::string operator()(const verdict::Stale&) const { return "stale"; }
  std::string operator()(const auto&) const { return "none of the table's"; }
};

std::string kind_of(const json::object& row) {
  for (const char* kind : {"claim", "complete", "release"}) {
    if (row.contains(kind)) return kind;
  }
  throw std::out_of_range("a row without an event that is known here");
}

void run_row(const json::object& table, const json::object& row) {
  const Fields usual = fields_of(table.at("record").as_object());
  std::optional<Record> was;
  Fields before = usual;
  if (!row.at("was").is_null()) {
    before = with(usual, row.at("was").as_object());
    was = record_of(before);
  }
  const std::string kind = kind_of(row);
  const Fields said = with(fields_of(table.at(kind).as_object()), row.at(kind).as_object());

  const Record* found = was ? &*was : nullptr;
  const Decision decision = kind == "claim" ? transition(found, claim_of(said), kNow)
                                            : transition(found, event_of(kind, said), kNow);
  EXPECT_EQ(std::visit(Told{}, decision.verdict), text_of(row.at("told")));

  const json::object& then = row.at("then").as_object();
  const auto* put = std::get_if<Put>(&decision.change);
  EXPECT_EQ(put != nullptr, !then.empty());
  if (put) EXPECT_EQ(fields_of(*put->next), with(before, then));
}

TEST(TransitionVectors, EveryRowHoldsInCpp) {
  const json::value table = read_table();
  const json::array& rows = table.at("rows").as_array();
  EXPECT_GE(rows.size(), 70u);
  for (const json::value& row : rows) {
    SCOPED_TRACE(text_of(row.at("name")));
    ASSERT_EQ(row.as_object().size(), 5u) << "name, was, the event, told, then";
    run_row(table.as_object(), row.as_object());
  }
}

}  // namespace
}  // namespace semel::core
