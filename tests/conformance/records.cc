#include "records.h"

#include <numeric>

namespace semel::conformance {

using namespace std::chrono_literals;

RecordId id_of(std::uint64_t number) {
  RecordId id;
  std::uint64_t mixed = number;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    mixed = mixed * 6364136223846793005U + 1442695040888963407U;
    id.bytes[i] = static_cast<std::uint8_t>(mixed >> 56);
  }
  return id;
}

Record claim_of(const RecordId& id) {
  Record record;
  record.id = id;
  record.state = RecordState::in_progress;
  record.attempt = 3;
  std::iota(record.token.bytes.begin(), record.token.bytes.end(), std::uint8_t{7});
  record.owner = {.node = "node-1", .run = 0xfedcba9876543210};
  record.recipe = {.body = BodyRecipe::json,
                   .query = false,
                   .include = {"/amount", "/items/*/id"},
                   .exclude = {"/sent_at"},
                   .headers = {"x-version"},
                   .hash_key_id = "h1"};
  std::iota(record.fingerprint.digest.begin(), record.fingerprint.digest.end(), std::uint8_t{200});
  record.fingerprint.parts = {1, 0xffffffffffffffff, 3, 4, 5, 6};
  record.lease_until = kThen + 1h;
  record.created_at = kThen - 2h;
  record.updated_at = kThen - 1h;
  record.ttl = 24h;
  record.tombstone = 168h;
  record.hold_for = 240h;
  record.ttl_from_creation = true;
  record.reason = "answered 503";
  record.reason_code = ReasonCode::executor_status;
  record.only_auth_failures = true;
  record.status_begun = 200;
  record.response_version = "2024-10-01";
  record.resource_type = "charge";
  record.resource_id = "ch_1";
  record.trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  record.history = {{kThen - 2h, RecordState::in_progress, 1, "claimed"},
                    {kThen - 1h, RecordState::released, 1, "answered 503"}};
  record.description = {"POST", "/v1/charges", {{"/amount", "4200"}, {"/currency", "\"EUR\""}}};
  record.tenant = "acme";
  record.operation = "charges";
  record.key = "8e03978e-40d5-43dd-bc93-6894a57f9324";
  return record;
}

Record completion_of(const RecordId& id, Time expires_at) {
  Record record = claim_of(id);
  record.state = RecordState::completed;
  record.expires_at = expires_at;
  record.result = RecordResult::succeeded;
  record.answer = {.status = 201,
                   .headers = {{"content-type", "application/json"}, {"link", ""}, {"link", "</>"}},
                   .body = R"({"id":"ch_1"})",
                   .body_note = BodyNote::kept};
  return record;
}

Record unknown_of(const RecordId& id, Time since) {
  Record record = claim_of(id);
  record.state = RecordState::unknown;
  record.updated_at = since;
  return record;
}

Record at_version(Record record, Version version) {
  record.version = version;
  return record;
}

namespace {

// Collects the names of the fields that differ.
struct Comparison {
  const Record& found;
  const Record& wanted;
  std::string names = {};

  template <typename Field>
  Comparison& field(const char* name, Field Record::* member) {
    if (found.*member != wanted.*member) names += (names.empty() ? "" : ", ") + std::string(name);
    return *this;
  }
};

std::string differing_fields(const Record& found, const Record& wanted) {
  return Comparison{found, wanted}
      .field("id", &Record::id)
      .field("version", &Record::version)
      .field("state", &Record::state)
      .field("attempt", &Record::attempt)
      .field("token", &Record::token)
      .field("owner", &Record::owner)
      .field("recipe", &Record::recipe)
      .field("fingerprint", &Record::fingerprint)
      .field("lease_until", &Record::lease_until)
      .field("created_at", &Record::created_at)
      .field("updated_at", &Record::updated_at)
      .field("expires_at", &Record::expires_at)
      .field("tombstone_until", &Record::tombstone_until)
      .field("hold_until", &Record::hold_until)
      .field("ttl", &Record::ttl)
      .field("tombstone", &Record::tombstone)
      .field("hold_for", &Record::hold_for)
      .field("ttl_from_creation", &Record::ttl_from_creation)
      .field("result", &Record::result)
      .field("reason", &Record::reason)
      .field("only_auth_failures", &Record::only_auth_failures)
      .field("status_begun", &Record::status_begun)
      .field("answer", &Record::answer)
      .field("response_version", &Record::response_version)
      .field("resource_type", &Record::resource_type)
      .field("resource_id", &Record::resource_id)
      .field("trace", &Record::trace)
      .field("history", &Record::history)
      .field("handle", &Record::handle)
      .field("request", &Record::request)
      .field("sealed", &Record::sealed)
      .field("description", &Record::description)
      .field("tenant", &Record::tenant)
      .field("operation", &Record::operation)
      .field("key", &Record::key)
      .names;
}

}  // namespace

std::string difference(const std::optional<Record>& found, const std::optional<Record>& wanted) {
  if (found == wanted) return "";
  if (!found) return "the record is absent";
  if (!wanted) return "the record is there, at version " + std::to_string(found->version);
  return "the record is another, at version " + std::to_string(found->version) + " instead of " +
         std::to_string(wanted->version) +
         "; fields that differ: " + differing_fields(*found, *wanted);
}

}  // namespace semel::conformance
