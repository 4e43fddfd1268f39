#include "stores/postgres_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/codec.h"
#include "stores/postgres_notes.h"

namespace semel {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::string_view kClaimedBySql = "sql";
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kAfterName = ": ";

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

// What PostgreSQL takes as text: UTF-8 without NUL, without surrogates.
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

std::int64_t day_of(Time at) {
  return std::min<std::int64_t>(at.time_since_epoch().count() / kDayMs,
                                std::numeric_limits<std::int32_t>::max());
}

std::int64_t ms(Time at) {
  return at.time_since_epoch().count();
}

// A name or value with a line end in it could not be told from two; such an answer is kept whole in
// `rest` instead. HTTP has none.
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
  r.state = State::in_progress;
  r.attempt = 0;
  r.token = {};
  r.lease_until = r.created_at = r.updated_at = {};
  r.expires_at = r.tombstone_until = r.hold_until = kNever;
  r.ttl = r.tombstone = r.hold_for = {};
  r.result = Result::none;
  r.only_auth_failures = r.ttl_from_creation = false;
  r.fingerprint.digest = {};
}

StoreUnavailable unreadable_record(const RecordId& id, const std::string& why) {
  return {.why = "record " + id.hex() + " cannot be read: " + why, .unreadable = true};
}

}  // namespace

std::int64_t content_bytes(const PgRows& rows, int row, int column) {
  return static_cast<std::int64_t>(rows.bytes(row, column + kRest).size() +
                                   rows.bytes(row, column + kBody).size());
}

RecordId to_id(std::string_view bytes) {
  return {to_array<32>(bytes)};
}
Token to_token(std::string_view bytes) {
  return {to_array<16>(bytes)};
}
std::string_view bytes_of(const RecordId& id) {
  return view(id.bytes);
}
std::string_view bytes_of(const Token& token) {
  return view(token.bytes);
}

std::size_t PgSwap::bytes() const {
  constexpr std::size_t kColumnsBytes = 400;
  if (!next) return kColumnsBytes;
  return kColumnsBytes + rest.size() + next->answer.body.size() + next->sealed.bytes.size();
}

PgSwap to_swap(const RecordId& id, Version expected, std::optional<Record> next) {
  PgSwap swap{.id = id, .expected = expected, .next = std::nullopt, .rest = {}};
  if (!next) return swap;
  Record& r = *next;
  // The answer of a completed record has a table of its own. Whatever else a record holds of one,
  // or holds sealed, is in `rest`.
  swap.has_answer = r.state == State::completed && is_text(r.sealed.key_id);
  swap.has_people = is_text(r.tenant) && is_text(r.operation) && is_text(r.key);

  Record columns = r;
  if (swap.has_answer) {
    const bool fits = fits_headers(r.answer.headers);
    r.answer.body.clear();
    r.answer.status = 0;
    r.answer.spilled_bytes = 0;
    r.sealed = {};
    if (fits) r.answer.headers.clear();
    if (!fits) columns.answer.headers.clear();
  }
  // Where the body lies is in the columns' flags.
  r.answer.body_note = BodyNote::kept;
  if (swap.has_people) {
    r.tenant.clear();
    r.operation.clear();
    r.key.clear();
  }
  if (is_text(r.response_version)) {
    r.response_version.clear();
  } else {
    columns.response_version.clear();
  }
  empty_columns(r);
  swap.rest = encode(r);
  columns.request.clear();
  columns.history.clear();
  if (!swap.has_answer) {
    columns.answer.body.clear();
    columns.answer.headers.clear();
    columns.sealed = {};
  }
  swap.next = std::move(columns);
  return swap;
}

std::vector<PgValue> swap_parameters(const std::vector<const PgSwap*>& swaps) {
  const std::size_t count = swaps.size();
  const auto numbers = [&](PgType type, auto of) {
    PgArray out(type, count);
    for (const PgSwap* swap : swaps) {
      swap->next ? out.add_number(static_cast<std::int64_t>(of(*swap->next))) : out.add_number(0);
    }
    return std::move(out).take();
  };
  const auto times = [&](auto of) {
    return numbers(PgType::int8_array, [&](const Record& r) { return ms(of(r)); });
  };
  const auto strings = [&](PgType type, auto of) {
    PgArray out(type, count);
    for (const PgSwap* swap : swaps) swap->next ? out.add(of(*swap->next)) : out.add({});
    return std::move(out).take();
  };
  const auto people = [&](auto of) {
    PgArray out(PgType::text_array, count);
    for (const PgSwap* swap : swaps) {
      swap->next && swap->has_people ? out.add(of(*swap->next)) : out.add_null();
    }
    return std::move(out).take();
  };

  PgArray ids(PgType::bytea_array, count);
  PgArray expecteds(PgType::int8_array, count);
  PgArray rests(PgType::bytea_array, count);
  PgArray days(PgType::int4_array, count);
  std::vector<std::pair<std::int64_t, const Record*>> answers;
  bool updates = false;
  bool removals = false;
  bool inserts = false;
  for (std::size_t i = 0; i < count; ++i) {
    const PgSwap& swap = *swaps[i];
    ids.add(bytes_of(swap.id));
    expecteds.add_number(static_cast<std::int64_t>(swap.expected));
    rests.add(swap.rest);
    if (swap.has_answer) {
      days.add_number(day_of(swap.next->expires_at));
      answers.emplace_back(i + 1, &*swap.next);
    } else {
      days.add_null();
    }
    if (!swap.next) {
      removals |= swap.expected != 0;
    } else {
      (swap.expected == 0 ? inserts : updates) = true;
    }
  }
  using R = const Record&;
  std::vector<PgValue> out;
  out.push_back(std::move(ids).take());
  out.push_back(std::move(expecteds).take());
  out.push_back(numbers(PgType::int2_array, [](R r) { return r.state; }));
  out.push_back(numbers(PgType::int4_array, [](R r) { return r.attempt; }));
  out.push_back(strings(PgType::bytea_array, [](R r) { return bytes_of(r.token); }));
  out.push_back(strings(PgType::bytea_array, [](R r) { return view(r.fingerprint.digest); }));
  out.push_back(times([](R r) { return r.lease_until; }));
  out.push_back(times([](R r) { return r.created_at; }));
  out.push_back(times([](R r) { return r.updated_at; }));
  out.push_back(times([](R r) { return r.expires_at; }));
  out.push_back(times([](R r) { return r.tombstone_until; }));
  out.push_back(times([](R r) { return r.hold_until; }));
  out.push_back(numbers(PgType::int8_array, [](R r) { return r.ttl.count(); }));
  out.push_back(numbers(PgType::int8_array, [](R r) { return r.tombstone.count(); }));
  out.push_back(numbers(PgType::int8_array, [](R r) { return r.hold_for.count(); }));
  out.push_back(times([](R r) { return due_at(r); }));
  out.push_back(numbers(PgType::int2_array, [](R r) { return flags_of(r); }));
  out.push_back(numbers(PgType::int2_array, [](R r) { return r.result; }));
  out.push_back(
      strings(PgType::text_array, [](R r) { return std::string_view(r.response_version); }));
  out.push_back(std::move(days).take());
  out.push_back(people([](R r) { return std::string_view(r.tenant); }));
  out.push_back(people([](R r) { return std::string_view(r.operation); }));
  out.push_back(people([](R r) { return std::string_view(r.key); }));
  out.push_back(std::move(rests).take());

  const auto of_answers = [&](PgType type, auto add) {
    PgArray array(type, answers.size());
    for (const auto& [ordinal, record] : answers) add(array, ordinal, *record);
    out.push_back(std::move(array).take());
  };
  of_answers(PgType::int4_array, [](PgArray& a, std::int64_t o, R) { a.add_number(o); });
  of_answers(PgType::int4_array,
             [](PgArray& a, std::int64_t, R r) { a.add_number(day_of(r.expires_at)); });
  of_answers(PgType::int4_array,
             [](PgArray& a, std::int64_t, R r) { a.add_number(r.answer.status); });
  of_answers(PgType::bytea_array,
             [](PgArray& a, std::int64_t, R r) { a.add(join(r.answer.headers)); });
  of_answers(PgType::bytea_array, [](PgArray& a, std::int64_t, R r) { a.add(r.answer.body); });
  of_answers(PgType::int8_array, [](PgArray& a, std::int64_t, R r) {
    a.add_number(static_cast<std::int64_t>(r.answer.spilled_bytes));
  });
  of_answers(PgType::text_array, [](PgArray& a, std::int64_t, R r) { a.add(r.sealed.key_id); });
  of_answers(PgType::bytea_array, [](PgArray& a, std::int64_t, R r) { a.add(r.sealed.bytes); });
  out.push_back(pg_boolean(updates));
  out.push_back(pg_boolean(removals));
  out.push_back(pg_boolean(inserts));
  return out;
}

PgValue ids_parameter(const std::vector<RecordId>& ids) {
  PgArray array(PgType::bytea_array, ids.size());
  for (const RecordId& id : ids) array.add(bytes_of(id));
  return std::move(array).take();
}

StoreResult<Record> to_record(const PgRows& rows, int row, int column, Time now) {
  const auto bytes = [&](Column which) { return rows.bytes(row, column + which); };
  const auto text = [&](Column which) { return std::string(bytes(which)); };
  const auto number = [&](Column which) { return rows.number(row, column + which); };
  const auto time = [&](Column which) { return Time(Duration(number(which))); };
  const auto has = [&](Column which) { return !rows.is_null(row, column + which); };

  const RecordId id = to_id(bytes(kId));
  Record r;
  if (has(kRest)) {
    auto rest = decode(bytes(kRest));
    if (!rest) return std::unexpected(unreadable_record(id, rest.error()));
    r = *std::move(rest);
  } else {
    r.owner.node = kClaimedBySql;
    r.recipe.body = BodyRecipe::none;
  }
  r.id = id;
  r.version = static_cast<Version>(number(kVersion));
  r.state = static_cast<State>(number(kState));
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
  r.result = static_cast<Result>(number(kResult));
  if (!bytes(kResponseVersion).empty()) r.response_version = text(kResponseVersion);
  if (has(kTenant)) r.tenant = text(kTenant);
  if (has(kOperation)) r.operation = text(kOperation);
  if (has(kKey)) r.key = text(kKey);

  if (has(kNoted)) {
    // What the answer was belongs to an attempt before.
    take_notes(r, bytes(kNoted));
    if (r.state == State::in_progress || r.state == State::released || has(kAnswerDay)) {
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
      return std::unexpected(unreadable_record(id, "its answer is gone before its time"));
    }
  }
  return r;
}

}  // namespace semel
