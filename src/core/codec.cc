#include "core/codec.h"

#include <zlib.h>

#include <array>

#include "core/byte_reader.h"

namespace semel {
namespace {

// Each version is the one before with more fields at its end. A record is written in the first
// version that has all its fields, so that nodes of an earlier release can read it.
constexpr std::uint8_t kFirstFormat = 1;
constexpr std::uint8_t kSecondFormat = 2;
constexpr std::uint8_t kThirdFormat = 3;
constexpr std::size_t kChecksumBytes = 4;

enum Flag : std::uint8_t {
  kOnlyAuthFailures = 1,
  kTtlFromCreation = 2,
  kBodyOmitted = 4,
  kQueryCounts = 8,
  kBodySpilled = 16,
};
// The reason's code is in the upper bits of the flags, which earlier versions neither read nor set.
constexpr unsigned kReasonShift = 5;

std::uint8_t flags_of(const Record& r) {
  return static_cast<std::uint8_t>((r.only_auth_failures ? kOnlyAuthFailures : 0) |
                                   (r.ttl_from_creation ? kTtlFromCreation : 0) |
                                   (r.answer.body_note == BodyNote::omitted ? kBodyOmitted : 0) |
                                   (r.recipe.query ? kQueryCounts : 0) |
                                   (r.answer.body_note == BodyNote::spilled ? kBodySpilled : 0) |
                                   static_cast<unsigned>(r.reason_code) << kReasonShift);
}

// A code of a later version is nothing that this one decides by.
ReasonCode reason_code_in(std::uint8_t flags) {
  const auto code = static_cast<ReasonCode>(flags >> kReasonShift);
  return code <= ReasonCode::operator_decision ? code : ReasonCode::other;
}

// The code of a reason that was written without one, by an earlier version, which decided by these
// texts.
ReasonCode reason_code_of(std::string_view reason) {
  if (reason.empty()) return ReasonCode::none;
  if (reason.starts_with("status ")) return ReasonCode::executor_status;
  if (reason == "observed: no answer") return ReasonCode::observed_unknown;
  return ReasonCode::other;
}

BodyNote body_note_of(std::uint8_t flags) {
  if (flags & kBodySpilled) return BodyNote::spilled;
  return flags & kBodyOmitted ? BodyNote::omitted : BodyNote::kept;
}

bool fits_first_format(const Record& r) {
  return r.answer.body_note != BodyNote::spilled && r.answer.spilled_bytes == 0 &&
         r.recipe.hash_key_id.empty() && r.recipe.body <= BodyRecipe::none && r.handle == Token{} &&
         r.request.empty() && r.sealed == Sealed{};
}

std::uint8_t format_for(const Record& r) {
  if (r.description != Description{}) return kThirdFormat;
  return fits_first_format(r) ? kFirstFormat : kSecondFormat;
}

// The version of the recipe shares a byte with its kind of body. A node that only knows version 1
// finds such a record malformed and answers 503: comparing under another version would give a false
// mismatch.
constexpr std::uint8_t kBodyRecipeBits = 0x0f;
constexpr unsigned kRecipeVersionShift = 4;

std::uint8_t recipe_byte(const Recipe& recipe) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(recipe.body) | (recipe.version - 1u)
                                                                            << kRecipeVersionShift);
}

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

class Writer {
 public:
  explicit Writer(std::size_t expected_bytes) { out_.reserve(expected_bytes); }

  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void fixed(std::uint64_t value, std::size_t bytes) {
    std::array<char, sizeof value> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(value >> (8 * i));
    out_.append(all.data(), bytes);
  }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      u8(static_cast<std::uint8_t>(value) | 0x80);
      value >>= 7;
    }
    u8(static_cast<std::uint8_t>(value));
  }
  void text(std::string_view value) {
    varint(value.size());
    out_.append(value);
  }
  void time(Time value) { fixed(static_cast<std::uint64_t>(value.time_since_epoch().count()), 8); }
  void duration(Duration value) { fixed(static_cast<std::uint64_t>(value.count()), 8); }
  template <std::size_t N>
  void raw(const std::array<std::uint8_t, N>& bytes) {
    out_.append(reinterpret_cast<const char*>(bytes.data()), N);
  }
  void texts(const std::vector<std::string>& values) {
    varint(values.size());
    for (const auto& value : values) text(value);
  }
  std::string take() && { return std::move(out_); }
  std::string seal() && {
    fixed(checksum(out_), kChecksumBytes);
    return std::move(out_);
  }

 private:
  std::string out_;
};

template <typename Enum>
bool in_range(Enum value, Enum first, Enum last) {
  return value >= first && value <= last;
}

void write_answer(Writer& out, const Answer& answer) {
  out.varint(static_cast<std::uint64_t>(answer.status));
  out.varint(answer.headers.size());
  for (const auto& header : answer.headers) {
    out.text(header.name);
    out.text(header.value);
  }
  out.text(answer.body);
}

void read_answer(core::ByteReader& in, Answer& answer) {
  answer.status = static_cast<int>(in.varint());
  answer.headers.resize(in.count());
  for (auto& header : answer.headers) {
    header.name = in.text();
    header.value = in.text();
  }
  answer.body = in.text();
}

void write_members(Writer& out, const std::vector<DescribedMember>& members) {
  out.varint(members.size());
  for (const auto& member : members) {
    out.text(member.pointer);
    out.text(member.value);
  }
}

void read_members(core::ByteReader& in, std::vector<DescribedMember>& members) {
  members.resize(in.count());
  for (auto& member : members) {
    member.pointer = in.text();
    member.value = in.text();
  }
}

// Strips the checksum, or says why the record cannot be read.
std::expected<std::string_view, std::string> checked(std::string_view bytes) {
  if (bytes.empty()) return std::unexpected("empty record");
  const auto format = static_cast<std::uint8_t>(bytes[0]);
  if (format < kFirstFormat || format > kThirdFormat) {
    return std::unexpected("record format " + std::to_string(format) +
                           " is not supported by this version");
  }
  if (bytes.size() < 1 + kChecksumBytes) return std::unexpected("record cut short");
  const std::string_view body = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (core::ByteReader(bytes.substr(body.size())).fixed(kChecksumBytes) != checksum(body)) {
    return std::unexpected("record checksum does not match");
  }
  return body;
}

// Reads the claim: who may execute, until when, and which request.
void read_claim(core::ByteReader& in, Record& r) {
  r.state = static_cast<RecordState>(in.u8());
  r.result = static_cast<RecordResult>(in.u8());
  const std::uint8_t flags = in.u8();
  r.only_auth_failures = flags & kOnlyAuthFailures;
  r.ttl_from_creation = flags & kTtlFromCreation;
  r.answer.body_note = body_note_of(flags);
  r.recipe.query = flags & kQueryCounts;
  r.reason_code = reason_code_in(flags);
  r.attempt = static_cast<std::uint32_t>(in.varint());
  in.raw(r.token.bytes);
  r.owner.node = in.text();
  r.owner.run = in.fixed(8);
  for (Time* at : {&r.lease_until, &r.created_at, &r.updated_at, &r.expires_at, &r.tombstone_until,
                   &r.hold_until}) {
    *at = in.time();
  }
  for (Duration* d : {&r.ttl, &r.tombstone, &r.hold_for}) *d = in.duration();

  const std::uint8_t recipe = in.u8();
  r.recipe.body = static_cast<BodyRecipe>(recipe & kBodyRecipeBits);
  r.recipe.version = static_cast<std::uint8_t>((recipe >> kRecipeVersionShift) + 1);
  r.recipe.include = in.texts();
  r.recipe.exclude = in.texts();
  r.recipe.headers = in.texts();
  in.raw(r.fingerprint.digest);
  r.fingerprint.parts.resize(in.count());
  for (auto& part : r.fingerprint.parts) part = in.fixed(8);
}

// Reads the outcome and the texts that are shown to people.
void read_outcome(core::ByteReader& in, Record& r) {
  r.reason = in.text();
  if (r.reason_code == ReasonCode::none) r.reason_code = reason_code_of(r.reason);
  r.status_begun = static_cast<int>(in.varint());
  read_answer(in, r.answer);
  for (std::string* text : {&r.response_version, &r.resource_type, &r.resource_id, &r.trace,
                            &r.tenant, &r.operation, &r.key}) {
    *text = in.text();
  }
  r.history.resize(in.count());
  for (auto& entry : r.history) {
    entry.at = in.time();
    entry.to = static_cast<RecordState>(in.u8());
    entry.attempt = static_cast<std::uint32_t>(in.varint());
    entry.note = in.text();
  }
}

void read_second_format(core::ByteReader& in, Record& r) {
  in.raw(r.handle.bytes);
  r.request = in.text();
  r.sealed.key_id = in.text();
  r.sealed.bytes = in.text();
  r.answer.spilled_bytes = in.varint();
  r.recipe.hash_key_id = in.text();
}

void read_third_format(core::ByteReader& in, Record& r) {
  r.description.method = in.text();
  r.description.path = in.text();
  read_members(in, r.description.members);
}

}  // namespace

std::string encode(const Record& r) {
  Writer out(320 + r.answer.body.size() + r.key.size() + r.request.size() + r.sealed.bytes.size() +
             r.description.path.size());
  const std::uint8_t format = format_for(r);
  out.u8(format);
  out.u8(static_cast<std::uint8_t>(r.state));
  out.u8(static_cast<std::uint8_t>(r.result));
  out.u8(flags_of(r));
  out.varint(r.attempt);
  out.raw(r.token.bytes);
  out.text(r.owner.node);
  out.fixed(r.owner.run, 8);
  for (Time at :
       {r.lease_until, r.created_at, r.updated_at, r.expires_at, r.tombstone_until, r.hold_until}) {
    out.time(at);
  }
  for (Duration d : {r.ttl, r.tombstone, r.hold_for}) out.duration(d);

  out.u8(recipe_byte(r.recipe));
  out.texts(r.recipe.include);
  out.texts(r.recipe.exclude);
  out.texts(r.recipe.headers);
  out.raw(r.fingerprint.digest);
  out.varint(r.fingerprint.parts.size());
  for (std::uint64_t part : r.fingerprint.parts) out.fixed(part, 8);

  out.text(r.reason);
  out.varint(static_cast<std::uint64_t>(r.status_begun));
  write_answer(out, r.answer);
  for (const std::string* text : {&r.response_version, &r.resource_type, &r.resource_id, &r.trace,
                                  &r.tenant, &r.operation, &r.key}) {
    out.text(*text);
  }
  out.varint(r.history.size());
  for (const auto& entry : r.history) {
    out.time(entry.at);
    out.u8(static_cast<std::uint8_t>(entry.to));
    out.varint(entry.attempt);
    out.text(entry.note);
  }
  if (format >= kSecondFormat) {
    out.raw(r.handle.bytes);
    out.text(r.request);
    out.text(r.sealed.key_id);
    out.text(r.sealed.bytes);
    out.varint(r.answer.spilled_bytes);
    out.text(r.recipe.hash_key_id);
  }
  if (format >= kThirdFormat) {
    out.text(r.description.method);
    out.text(r.description.path);
    write_members(out, r.description.members);
  }
  return std::move(out).seal();
}

std::expected<Record, std::string> decode(std::string_view bytes) {
  const auto body = checked(bytes);
  if (!body) return std::unexpected(body.error());
  core::ByteReader in(*body);
  const std::uint8_t format = in.u8();
  Record r;
  read_claim(in, r);
  read_outcome(in, r);
  if (format >= kSecondFormat) read_second_format(in, r);
  if (format >= kThirdFormat) read_third_format(in, r);
  if (!in.finished() || !in_range(r.state, RecordState::queued, RecordState::tombstone) ||
      !in_range(r.result, RecordResult::none, RecordResult::failed) ||
      !in_range(r.recipe.body, BodyRecipe::json, BodyRecipe::digest) ||
      r.recipe.version > kRecipeVersion) {
    return std::unexpected("record is malformed although its checksum matches");
  }
  return r;
}

std::optional<Token> core::spilled_under(std::string_view encoding) {
  constexpr std::size_t kFlagsAt = 3;
  const bool spilled = encoding.size() > kFlagsAt && encoding[0] != kFirstFormat &&
                       (static_cast<std::uint8_t>(encoding[kFlagsAt]) & kBodySpilled);
  if (!spilled) return std::nullopt;
  const auto record = decode(encoding);
  if (!record) return std::nullopt;
  return record->token;
}

bool core::has_content(const Record& record) {
  return record.answer.status != 0 || !record.answer.headers.empty() ||
         !record.answer.body.empty() || !record.request.empty() ||
         !record.description.members.empty();
}

std::string core::encode_content(const Record& record) {
  Writer out(64 + record.answer.body.size() + record.request.size());
  write_answer(out, record.answer);
  out.text(record.request);
  if (!record.description.members.empty()) write_members(out, record.description.members);
  return std::move(out).take();
}

bool core::decode_content(std::string_view bytes, Record& record) {
  core::ByteReader in(bytes);
  read_answer(in, record.answer);
  record.request = in.text();
  if (!in.finished()) read_members(in, record.description.members);
  return in.finished();
}

}  // namespace semel
