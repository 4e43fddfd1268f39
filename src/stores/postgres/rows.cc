#include "stores/postgres/rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/codec.h"
#include "stores/postgres/notes.h"

namespace semel::stores {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::string_view kClaimedBySql = "sql";
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kAfterName = ": ";
constexpr int kItemColumns = 26;   // of semel.swap_item
constexpr int kAnswerColumns = 9;  // of semel.answer_item
constexpr std::size_t kNumbersBytes = 160;
constexpr std::size_t kHeadersBytes = 128;  // mostly less
constexpr std::size_t kRestBytes = 320;     // mostly less

enum Flag : int {
  kOnlyAuthFailures = 1,
  kTtlFromCreation = 2,
  kBodyOmitted = 4,
  kBodySpilled = 16
};

// The columns of semel.whole_record.
enum Column : int {
  kId,
  kVersion,
  kState,
  kAttempt,
  kToken,
  kFingerprint,
  kLeaseUntil,
  kCreatedAt,
  kUpdatedAt,
  kExpiresAt,
  kTombstoneUntil,
  kHoldUntil,
  kTtl,
  kTombstone,
  kHoldFor,
  kFlags,
  kResult,
  kResponseVersion,
  kAnswerDay,
  kTenant,
  kOperation,
  kKey,
  kNoted,
  kRest,
  kStatus,
  kHeaders,
  kBody,
  kSpilled,
  kSealedKey,
  kSealed,
};

template <std::size_t N>
std::array<std::uint8_t, N> to_array(std::string_view bytes) {
  std::array<std::uint8_t, N> out{};
  std::memcpy(out.data(), bytes.data(), std::min(N, bytes.size()));
  return out;
}

template <std::size_t N>
std::string_view view(const std::array<std::uint8_t, N>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), N};
}

// Returns whether PostgreSQL accepts it as text: UTF-8 without NUL and without surrogates.
bool is_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<std::uint8_t>(text[i]);
    if (first == 0) return false;
    const std::size_t more = first < 0x80             ? 0
                             : (first & 0xe0) == 0xc0 ? 1
                             : (first & 0xf0) == 0xe0 ? 2
                             : (first & 0xf8) == 0xf0 ? 3
                                                      : 4;
    if (more == 4 || text.size() - i <= more) return false;
    std::uint32_t code = more == 0 ? first : first & (0x3f >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      const auto next = static_cast<std::uint8_t>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (code < kLeast[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += more + 1;
  }
  return true;
}

int flags_of(const Record& r) {
  return (r.only_auth_failures ? kOnlyAuthFailures : 0) |
         (r.ttl_from_creation ? kTtlFromCreation : 0) |
         (r.answer.body_note == BodyNote::omitted ? kBodyOmitted : 0) |
         (r.answer.body_note == BodyNote::spilled ? kBodySpilled : 0);
}

BodyNote body_note_of(std::int64_t flags) {
  if (flags & kBodySpilled) return BodyNote::spilled;
  return flags & kBodyOmitted ? BodyNote::omitted : BodyNote::kept;
}

std::int32_t day_of(Time at) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(
      at.time_since_epoch().count() / kDayMs, std::numeric_limits<std::int32_t>::max()));
}

// Computes semel.id_lock().
std::int64_t lock_of(const RecordId& id) {
  std::uint64_t lock = 0;
  for (std::size_t i = 0; i < sizeof lock; ++i) lock = lock << 8 | id.bytes[i];
  return static_cast<std::int64_t>(lock);
}

std::int64_t ms(Time at) {
  return at.time_since_epoch().count();
}

// A name or value with a line end in it could not be told from two headers; such headers are kept
// in `rest` instead. HTTP has none.
bool fits_headers(const std::vector<Header>& headers) {
  return std::ranges::all_of(headers, [](const Header& header) {
    return !header.name.contains(kAfterName) && !header.name.contains(kLineEnd) &&
           !header.value.contains(kLineEnd);
  });
}

std::string join(const std::vector<Header>& headers) {
  std::string out;
  for (const Header& header : headers) {
    out += header.name;
    out += kAfterName;
    out += header.value;
    out += kLineEnd;
  }
  return out;
}

std::vector<Header> split(std::string_view text) {
  std::vector<Header> headers;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(kLineEnd), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t colon = line.find(kAfterName);
    if (colon != line.npos) {
      headers.push_back({std::string(line.substr(0, colon)),
                         std::string(line.substr(colon + kAfterName.size()))});
    }
    text.remove_prefix(std::min(end + kLineEnd.size(), text.size()));
  }
  return headers;
}

void empty_columns(Record& r) {
  r.state = RecordState::in_progress;
  r.attempt = 0;
  r.token = {};
  r.lease_until = r.created_at = r.updated_at = {};
  r.expires_at = r.tombstone_until = r.hold_until = kNever;
  r.ttl = r.tombstone = r.hold_for = {};
  r.result = RecordResult::none;
  r.only_auth_failures = r.ttl_from_creation = false;
  r.fingerprint.digest = {};
}

// The answer of a completed record has a table of its own. Any other record has its part of an
// answer, and sealed bytes, in `rest`.
bool has_answer_row(const Record& r) {
  return r.state == RecordState::completed && is_text(r.sealed.key_id);
}

void add_people(Record& r, postgres::PgComposite& item) {
  const bool is_readable = is_text(r.tenant) && is_text(r.operation) && is_text(r.key);
  for (std::string* one : {&r.tenant, &r.operation, &r.key}) {
    if (is_readable) {
      item.add(postgres::PgType::text, *one);
      one->clear();
    } else {
      item.add_null(postgres::PgType::text);
    }
  }
}

// Moves the answer out of the record into a semel.answer_item.
std::string take_answer(Record& r, const RecordId& id, std::int32_t day) {
  postgres::PgComposite item(kAnswerColumns, r.answer.body.size() + r.sealed.bytes.size() +
                                                 id.bytes.size() + kHeadersBytes);
  item.add_number(postgres::PgType::int4, 0);
  item.add_number(postgres::PgType::int4, day);
  item.add(postgres::PgType::bytea, core::bytes_of(id));
  item.add_number(postgres::PgType::int4, r.answer.status);
  if (fits_headers(r.answer.headers)) {
    item.add(postgres::PgType::bytea, join(r.answer.headers));
    r.answer.headers.clear();
  } else {
    item.add(postgres::PgType::bytea, {});
  }
  item.add(postgres::PgType::bytea, r.answer.body);
  item.add_number(postgres::PgType::int8, static_cast<std::int64_t>(r.answer.spilled_bytes));
  item.add(postgres::PgType::text, r.sealed.key_id);
  item.add(postgres::PgType::bytea, r.sealed.bytes);
  r.answer.body.clear();
  r.answer.status = 0;
  r.answer.spilled_bytes = 0;
  r.sealed = {};
  return std::move(item).take();
}

// Adds the columns of a semel.swap_item from its state on. Takes the value of each column out of
// the record; the remaining record is `rest`.
void add_record(Record& r, const PgSwap& swap, postgres::PgComposite& item) {
  const auto number = [&](postgres::PgType type, std::int64_t value) {
    item.add_number(type, value);
  };
  const auto time = [&](Time at) { item.add_number(postgres::PgType::int8, ms(at)); };
  number(postgres::PgType::int2, swap.removes ? 0 : static_cast<std::int64_t>(r.state));
  number(postgres::PgType::int4, r.attempt);
  item.add(postgres::PgType::bytea, core::bytes_of(r.token));
  item.add(postgres::PgType::bytea, view(r.fingerprint.digest));
  time(r.lease_until);
  time(r.created_at);
  time(r.updated_at);
  time(r.expires_at);
  time(r.tombstone_until);
  time(r.hold_until);
  number(postgres::PgType::int8, r.ttl.count());
  number(postgres::PgType::int8, r.tombstone.count());
  number(postgres::PgType::int8, r.hold_for.count());
  time(due_at(r));
  number(postgres::PgType::int2, flags_of(r));
  number(postgres::PgType::int2, static_cast<std::int64_t>(r.result));
  const bool has_version = is_text(r.response_version);
  item.add(postgres::PgType::text,
           has_version ? std::string_view(r.response_version) : std::string_view());
  if (has_version) r.response_version.clear();
  add_people(r, item);
  if (swap.answer_day) {
    item.add_number(postgres::PgType::int4, *swap.answer_day);
  } else {
    item.add_null(postgres::PgType::int4);
  }
  // The flags say where the body is.
  r.answer.body_note = BodyNote::kept;
  empty_columns(r);
  item.add(postgres::PgType::bytea, encode(r));
}

StoreUnavailable unreadable_record(const RecordId& id, const std::string& why) {
  return {.why = "record " + id.hex() + " cannot be read: " + why, .unreadable = true};
}

}  // namespace

std::int64_t content_bytes(const postgres::PgRows& rows, int row, int column) {
  return static_cast<std::int64_t>(rows.bytes(row, column + kRest).size() +
                                   rows.bytes(row, column + kBody).size() +
                                   rows.bytes(row, column + kSealed).size());
}

RecordId to_id(std::string_view bytes) {
  return {to_array<32>(bytes)};
}
Token to_token(std::string_view bytes) {
  return {to_array<16>(bytes)};
}

PgSwap to_swap(const RecordId& id, Version expected, const Record* next) {
  PgSwap swap{
      .id = id, .expected = expected, .removes = !next, .answer_day = {}, .item = {}, .answer = {}};
  // A copy: the columns' values are taken out of it.
  Record rest = next ? *next : Record{};
  if (next && has_answer_row(rest)) {
    swap.answer_day = day_of(rest.expires_at);
    swap.answer = take_answer(rest, id, *swap.answer_day);
  }
  std::size_t bytes = kNumbersBytes + id.bytes.size();
  if (next) {
    bytes += rest.answer.body.size() + rest.sealed.bytes.size() + rest.request.size() +
             rest.tenant.size() + rest.operation.size() + rest.key.size() +
             rest.description.path.size() + kRestBytes;
  }
  postgres::PgComposite item(kItemColumns, bytes);
  item.add_number(postgres::PgType::int4, 0);
  item.add(postgres::PgType::bytea, core::bytes_of(id));
  item.add_number(postgres::PgType::int8, static_cast<std::int64_t>(expected));
  item.add_number(postgres::PgType::int8, lock_of(id));
  add_record(rest, swap, item);
  swap.item = std::move(item).take();
  return swap;
}

std::vector<postgres::PgValue> swap_parameters(const std::vector<PgSwap*>& swaps,
                                               const PgItemTypes& types, std::int64_t bytes_max) {
  constexpr std::size_t kLengthBytes = 4;
  std::size_t item_bytes = 0;
  std::size_t answer_bytes = 0;
  std::size_t answered = 0;
  for (const PgSwap* swap : swaps) {
    item_bytes += swap->item.size() + kLengthBytes;
    if (!swap->answer_day) continue;
    answer_bytes += swap->answer.size() + kLengthBytes;
    ++answered;
  }
  postgres::PgArray items(types.swap_item, swaps.size());
  items.reserve(item_bytes);
  postgres::PgArray answers(types.answer_item, answered);
  answers.reserve(answer_bytes);
  std::vector<std::int32_t> days;
  bool updates = false;
  bool removals = false;
  bool inserts = false;
  std::int32_t number = 0;
  for (PgSwap* swap : swaps) {
    postgres::PgComposite::set_first(swap->item, ++number);
    items.add(swap->item);
    if (swap->answer_day) {
      postgres::PgComposite::set_first(swap->answer, number);
      answers.add(swap->answer);
      if (std::ranges::find(days, *swap->answer_day) == days.end()) {
        days.push_back(*swap->answer_day);
      }
    }
    if (swap->removes) {
      removals |= swap->expected != 0;
    } else {
      (swap->expected == 0 ? inserts : updates) = true;
    }
  }
  postgres::PgArray all_days(postgres::PgType::int4, days.size());
  for (const std::int32_t day : days) all_days.add_number(day);
  std::vector<postgres::PgValue> out;
  out.push_back(std::move(items).take());
  out.push_back(std::move(answers).take());
  out.push_back(std::move(all_days).take());
  out.push_back(postgres::pg_boolean(updates));
  out.push_back(postgres::pg_boolean(removals));
  out.push_back(postgres::pg_boolean(inserts));
  out.push_back(postgres::pg_int8(bytes_max));
  return out;
}

postgres::PgValue ids_parameter(const std::vector<RecordId>& ids) {
  postgres::PgArray array(postgres::PgType::bytea, ids.size());
  for (const RecordId& id : ids) array.add(core::bytes_of(id));
  return std::move(array).take();
}

StoreResult<std::shared_ptr<Record>> to_record(const postgres::PgRows& rows, int row, int column,
                                               Time now) {
  const auto bytes = [&](Column which) { return rows.bytes(row, column + which); };
  const auto text = [&](Column which) { return std::string(bytes(which)); };
  const auto number = [&](Column which) { return rows.number(row, column + which); };
  const auto time = [&](Column which) { return Time(Duration(number(which))); };
  const auto has = [&](Column which) { return !rows.is_null(row, column + which); };

  const RecordId id = to_id(bytes(kId));
  auto made = std::make_shared<Record>();
  Record& r = *made;
  if (has(kRest)) {
    auto rest = decode(bytes(kRest));
    if (!rest) return std::unexpected(unreadable_record(id, rest.error()));
    r = *std::move(rest);
  } else {
    r.owner.node = kClaimedBySql;
    r.recipe.body = BodyRecipe::none;
    r.recipe.version = 1;
  }
  r.id = id;
  r.version = static_cast<Version>(number(kVersion));
  r.state = static_cast<RecordState>(number(kState));
  r.attempt = static_cast<std::uint32_t>(number(kAttempt));
  r.token = to_token(bytes(kToken));
  r.fingerprint.digest = to_array<32>(bytes(kFingerprint));
  r.lease_until = time(kLeaseUntil);
  r.created_at = time(kCreatedAt);
  r.updated_at = time(kUpdatedAt);
  r.expires_at = time(kExpiresAt);
  r.tombstone_until = time(kTombstoneUntil);
  r.hold_until = time(kHoldUntil);
  r.ttl = Duration(number(kTtl));
  r.tombstone = Duration(number(kTombstone));
  r.hold_for = Duration(number(kHoldFor));
  const std::int64_t flags = number(kFlags);
  r.only_auth_failures = flags & kOnlyAuthFailures;
  r.ttl_from_creation = flags & kTtlFromCreation;
  r.answer.body_note = body_note_of(flags);
  r.result = static_cast<RecordResult>(number(kResult));
  if (!bytes(kResponseVersion).empty()) r.response_version = text(kResponseVersion);
  if (has(kTenant)) r.tenant = text(kTenant);
  if (has(kOperation)) r.operation = text(kOperation);
  if (has(kKey)) r.key = text(kKey);

  if (has(kNoted)) {
    // An answer in `rest` belongs to an earlier attempt.
    take_notes(r, bytes(kNoted));
    if (r.state == RecordState::in_progress || r.state == RecordState::released ||
        has(kAnswerDay)) {
      const BodyNote note = r.answer.body_note;
      r.answer = {};
      r.answer.body_note = note;
      r.sealed = {};
    }
  }
  if (has(kAnswerDay)) {
    if (has(kStatus)) {
      r.answer.status = static_cast<int>(number(kStatus));
      if (!bytes(kHeaders).empty()) r.answer.headers = split(bytes(kHeaders));
      r.answer.body = text(kBody);
      r.answer.spilled_bytes = static_cast<std::uint64_t>(number(kSpilled));
      r.sealed = {.key_id = text(kSealedKey), .bytes = text(kSealed)};
    } else if (r.expires_at > now) {
      return std::unexpected(unreadable_record(id, "its answer is missing before it has expired"));
    }
  }
  return made;
}

}  // namespace semel::stores
