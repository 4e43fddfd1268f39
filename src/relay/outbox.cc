#include "relay/outbox.h"

#include <algorithm>
#include <cstring>

#include "base/array_text.h"
#include "base/names.h"

namespace semel::relay {
namespace {

constexpr auto kVerdictNames = base::names<Verdict::end>({
    {Verdict::delivered, "delivered"},
    {Verdict::retry, "retry"},
    {Verdict::dead, "dead"},
    {Verdict::blocked, "blocked"},
    {Verdict::end, "end"},
});

std::optional<RecordId> record_id(std::string_view bytes) {
  RecordId id;
  if (bytes.size() != id.bytes.size()) return std::nullopt;
  std::memcpy(id.bytes.data(), bytes.data(), id.bytes.size());
  return id;
}

// Returns the leases at the places that the server has named, which begin with 1.
std::vector<LeaseId> at_places(const postgres::PgRows& rows, const std::vector<LeaseId>& leases) {
  std::vector<LeaseId> out;
  for (int row = 0; row < rows.size(); ++row) {
    out.push_back(leases.at(static_cast<std::size_t>(rows.number(row, 0) - 1)));
  }
  return out;
}

std::vector<std::int64_t> numbers_of(const std::vector<LeaseId>& leases) {
  std::vector<std::int64_t> out;
  for (const LeaseId& lease : leases) out.push_back(lease.number);
  return out;
}

// Replaces characters of the kind that PostgreSQL refuses in a text.
std::string valid_text(std::string why) {
  constexpr std::size_t kLengthMax = 1000;
  std::ranges::replace_if(why, [](char c) { return c < ' ' || c > '~'; }, '?');
  if (why.size() > kLengthMax) why.resize(kLengthMax);
  return why;
}

}  // namespace

std::expected<Outbox, std::string> Outbox::open(const std::string& url, const std::string& schema,
                                                std::string who, std::uint64_t connection,
                                                Duration patience) {
  auto database = postgres::PgBlocking::connect(url, schema, patience);
  if (!database) return std::unexpected(std::move(database.error()));
  Outbox outbox(*std::move(database), schema, std::move(who), connection);
  // If a report is lost in a crash of the server, the delivery is made again, under the same key:
  // not worth one sync per report. The indexes are right whatever the statistics of a queue say.
  for (const char* setting :
       {"SET application_name = 'semel relay'", "SET search_path = pg_catalog",
        "SET synchronous_commit = off", "SET enable_seqscan = off", "SET enable_bitmapscan = off",
        "SET statement_timeout = '8s'"}) {  // before our own patience ends (PgBlocking::kPatience)
    auto set = outbox.database_.run(setting);
    if (!set) return std::unexpected(std::move(set.error()));
  }
  const auto row = outbox.database_.query("SELECT i.id, " + outbox.function("outbox_channel()") +
                                          " FROM " + schema + ".outbox_identity i");
  if (!row) return std::unexpected(row.error());
  const auto identity = row->size() == 1 ? record_id(row->bytes(0, 0)) : std::nullopt;
  if (!identity) return std::unexpected("the outbox of schema " + schema + " has no identity");
  outbox.identity_ = *identity;
  auto listening = outbox.database_.run("LISTEN \"" + std::string(row->bytes(0, 1)) + "\"");
  if (!listening) return std::unexpected(std::move(listening.error()));
  return outbox;
}

std::string Outbox::function(std::string_view name_and_arguments) const {
  return schema_ + "." + std::string(name_and_arguments);
}

std::string Outbox::holder(std::uint64_t connection) const {
  return who_ + " " + std::to_string(connection);
}

std::expected<std::vector<LeasedLane>, std::string> Outbox::take(const std::vector<Room>& rooms,
                                                                 Duration lease) {
  std::vector<std::string> destinations, idle;
  std::vector<std::int64_t> slots, bytes;
  for (const Room& room : rooms) {
    destinations.push_back(room.destination);
    slots.push_back(room.lanes);
    bytes.push_back(room.bytes);
    idle.emplace_back(room.is_idle ? "true" : "false");
  }
  const auto rows = database_.query(
      "SELECT lane, lease, destination, id, payload, headers, record, attempts, "
      "ordering_key, enqueued_at FROM " +
          function("outbox_take($1, $2, $3, $4, $5, $6)"),
      {base::array_text(destinations), base::array_text(slots), base::array_text(bytes),
       base::array_text(idle), holder(connection_), std::to_string(lease.count())});
  if (!rows) return std::unexpected(rows.error());
  std::vector<LeasedLane> lanes;
  for (int row = 0; row < rows->size(); ++row) {
    if (lanes.empty() || lanes.back().lane != rows->number(row, 0)) {
      lanes.push_back({rows->number(row, 0),
                       {rows->number(row, 1), connection_},
                       std::string(rows->bytes(row, 2)),
                       std::nullopt,
                       {}});
      if (!rows->is_null(row, 8)) lanes.back().ordering_key = rows->bytes(row, 8);
    }
    StoredMessage& message = lanes.back().messages.emplace_back();
    message.id = rows->number(row, 3);
    message.payload = rows->bytes(row, 4);
    message.headers = rows->bytes(row, 5);
    if (!rows->is_null(row, 6)) message.record = record_id(rows->bytes(row, 6));
    message.attempts = static_cast<int>(rows->number(row, 7));
    message.enqueued_at = rows->number(row, 9);
  }
  return lanes;
}

std::expected<std::vector<LeaseId>, std::string> Outbox::report(
    const std::vector<Report>& reports) {
  std::vector<std::int64_t> lanes, ids, delays;
  std::vector<LeaseId> leases;
  std::vector<std::string> holders, verdicts, errors;
  for (const Report& report : reports) {
    lanes.push_back(report.lane);
    leases.push_back(report.lease);
    holders.push_back(holder(report.lease.connection));
    ids.push_back(report.id);
    verdicts.emplace_back(kVerdictNames[report.verdict]);
    errors.push_back(valid_text(report.why));
    delays.push_back(report.delay.count());
  }
  const auto lost =
      database_.query("SELECT " + function("outbox_report($1, $2, $3, $4, $5, $6, $7)"),
                      {base::array_text(lanes), base::array_text(numbers_of(leases)),
                       base::array_text(holders), base::array_text(ids), base::array_text(verdicts),
                       base::array_text(errors), base::array_text(delays)});
  if (!lost) return std::unexpected(lost.error());
  return at_places(*lost, leases);
}

std::expected<std::vector<LeaseId>, std::string> Outbox::renew(
    const std::vector<std::int64_t>& lanes, const std::vector<LeaseId>& leases, Duration lease) {
  std::vector<std::string> holders;
  for (const LeaseId& id : leases) holders.push_back(holder(id.connection));
  const auto lost = database_.query("SELECT " + function("outbox_renew($1, $2, $3, $4)"),
                                    {base::array_text(lanes), base::array_text(numbers_of(leases)),
                                     base::array_text(holders), std::to_string(lease.count())});
  if (!lost) return std::unexpected(lost.error());
  return at_places(*lost, leases);
}

std::expected<std::optional<Duration>, std::string> Outbox::next_due(
    const std::vector<std::string>& destinations) {
  const auto rows =
      database_.query("SELECT " + function("outbox_next($1)"), {base::array_text(destinations)});
  if (!rows) return std::unexpected(rows.error());
  if (rows->is_null(0, 0)) return std::nullopt;
  return Duration(rows->number(0, 0));
}

std::expected<std::vector<std::string>, std::string> Outbox::destinations(const std::string& after,
                                                                          std::size_t names_max) {
  const auto rows = database_.query("SELECT " + function("outbox_destinations($1, $2)"),
                                    {after, std::to_string(names_max)});
  if (!rows) return std::unexpected(rows.error());
  std::vector<std::string> names;
  for (int row = 0; row < rows->size(); ++row) names.emplace_back(rows->bytes(row, 0));
  return names;
}

std::expected<LieDown, std::string> Outbox::go_idle() {
  const auto rows = database_.query("SELECT " + function("outbox_lie_down()"));
  if (!rows) return std::unexpected(rows.error());
  const std::string_view how = rows->bytes(0, 0);
  return how == "idle" ? LieDown::idle : how == "another" ? LieDown::another : LieDown::soon;
}

std::expected<void, std::string> Outbox::get_up() {
  const auto rows = database_.query("SELECT " + function("outbox_get_up()"));
  if (!rows) return std::unexpected(rows.error());
  return {};
}

}  // namespace semel::relay
